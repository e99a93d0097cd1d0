"""The short path for one ordinary start writes the same as the general path."""

from __future__ import annotations

from holdfast.core.lifecycle import NewJob
from holdfast.engine.operations import Listen, ReadEvents, Start
from holdfast.stores.redis import RedisStore
from holdfast.testing.builders import new_job
from holdfast.testing.clock import ManualClock
from tests.servers.redis import RedisServer, new_namespace


def test_jobs_started_one_by_one_are_stored_like_jobs_started_together(server: RedisServer) -> None:
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


def test_a_single_start_is_recorded_for_listeners(store: RedisStore) -> None:
    last = store.perform_sync(Listen("follower", 60_000_000))

    store.perform_sync(Start((new_job(id="a"),)))

    assert [event.kind for event in store.perform_sync(ReadEvents(last, 10))] == ["created"]


def _opened(server: RedisServer) -> RedisStore:
    store = RedisStore(server.address(new_namespace()), clock=ManualClock())
    store.open_sync()
    return store


def _written(store: RedisStore, server: RedisServer) -> dict[str, object]:
    """All keys and values of the store's namespace."""
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
