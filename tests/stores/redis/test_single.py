"""One ordinary start has a short way of its own through its script: it leaves what the long one leaves."""

from __future__ import annotations

from holdfast.core.lifecycle import NewJob
from holdfast.engine.operations import Listen, ReadEvents, Start
from holdfast.stores.redis import RedisStore
from holdfast.testing.builders import new_job
from holdfast.testing.clock import ManualClock
from tests.servers.redis import RedisServer, new_namespace


def test_jobs_started_one_by_one_stand_written_like_jobs_started_together(server: RedisServer) -> None:
    jobs = tuple(
        NewJob(id, type, id, b"1", keep=5, chosen=False) for id, type in (("a", "mail"), ("b", "resize"), ("c", "mail"))
    )
    together, alone = _opened(server), _opened(server)

    answered = together.perform_sync(Start(jobs))
    one_by_one = [alone.perform_sync(Start((job,)))[0] for job in jobs]

    assert one_by_one == answered
    assert _written(alone, server) == _written(together, server)
    together.close_sync()
    alone.close_sync()


def test_a_single_start_whose_id_is_taken_writes_nothing(store: RedisStore, server: RedisServer) -> None:
    (made,) = store.perform_sync(Start((new_job(id="a", input=b"1"),)))
    before = _written(store, server)

    (found,) = store.perform_sync(Start((new_job(id="a", input=b"2"),)))

    assert (found.chain, found.deduplicated) == (made.chain, True)
    assert _written(store, server) == before


def test_whoever_follows_the_store_is_told_of_a_single_start(store: RedisStore) -> None:
    last = store.perform_sync(Listen("follower", 60_000_000))

    store.perform_sync(Start((new_job(id="a"),)))

    assert [event.kind for event in store.perform_sync(ReadEvents(last, 10))] == ["created"]


def _opened(server: RedisServer) -> RedisStore:
    store = RedisStore(server.address(new_namespace()), clock=ManualClock())
    store.open_sync()
    return store


def _written(store: RedisStore, server: RedisServer) -> dict[str, object]:
    """All that stands under the store's namespace, in the server's own form."""
    root = f"{{{store.name.rpartition('=')[2]}}}"
    found: dict[str, object] = {}
    with server.connect() as client:
        for key in client.keys(f"{root}*"):
            match client.type(key):
                case b"hash":
                    value: object = client.hgetall(key)
                case b"zset":
                    value = client.zrange(key, 0, -1, withscores=True)
                case _:
                    value = client.dump(key)
            found[key.decode().removeprefix(root)] = value
    return found
