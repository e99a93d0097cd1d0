"""The scripts: one per verb, called by digest, and loaded again after the server lost them."""

from __future__ import annotations

from importlib.resources import files

import pytest

from holdfast.core.ids import new_token
from holdfast.core.lifecycle import NewJob
from holdfast.core.record import Status
from holdfast.engine.operations import (
    CancelChains,
    ClaimJobs,
    GetHistory,
    GetJobs,
    GetStats,
    Keep,
    PreviewStart,
    Prune,
    ReportProgress,
    Settle,
    Start,
    TypeTerms,
)
from holdfast.errors import ChainNotFound, NotPermitted
from holdfast.stores.redis import RedisStore
from holdfast.stores.redis.connection.conversation import ErrorReply
from holdfast.stores.redis.script_loader import script
from holdfast.stores.redis.verbs.plans import HELPER_SCRIPTS, VERBS
from holdfast.testing.builders import completed, new_job, rescheduled
from holdfast.testing.clock import ManualClock
from tests.servers.redis import Product, RedisServer, run_redis

TERMS = (TypeTerms("resize", 30_000_000, 25),)
SOURCES = files("holdfast.stores.redis.scripts")


def test_every_verb_has_a_script_and_every_script_belongs_to_a_verb() -> None:
    names = {each.name.removesuffix(".lua") for each in SOURCES.iterdir() if each.name.endswith(".lua")}

    assert names == {*VERBS, *HELPER_SCRIPTS}


@pytest.mark.parametrize("verb", sorted({*VERBS, *HELPER_SCRIPTS}))
def test_a_script_compiles_and_begins_with_its_description(verb: str, server: RedisServer) -> None:
    own = (SOURCES / f"{verb}.lua").read_text()

    assert own.startswith(f"-- {verb}: ")
    with server.connect() as client:
        plain = script(verb, script_flags=False)
        assert client.script_load(plain.source) == plain.sha
        if int(client.info("server")["redis_version"].split(".")[0]) >= 7:
            script_flags = script(verb, script_flags=True)
            assert client.script_load(script_flags.source) == script_flags.sha


# A list searches the text of errors. The library writes errors, not a codec of the application.
@pytest.mark.parametrize("verb", sorted({*VERBS, *HELPER_SCRIPTS} - {"list_jobs", "list_chains"}))
def test_no_script_decodes_payloads(verb: str) -> None:
    source = script(verb, script_flags=False).source
    # Hooks, lanes and origins need the details of a job. They are not a payload.
    for job in ("failed", "first"):
        source = source.replace(f"pcall(cjson.decode, {job}.details)", "")
    source = source.replace("cjson.decode(job.details)", "")
    assert "cjson.decode" not in source


def test_expired_chains_are_removed_from_the_key_index_when_first_read(server: RedisServer) -> None:
    clock = ManualClock()
    store = RedisStore(server.address("passed"), clock=clock)
    store.open_sync()
    kept = new_job(id="kept", key="k", keep=1000)
    for job in (kept, *(new_job(key="k", keep=0) for _ in range(120))):
        store.perform_sync(Start((job,)))
        (claimed,) = store.perform_sync(ClaimJobs(TERMS, 1, "worker", new_token()))
        store.perform_sync(Settle((completed(claimed),)))
    clock.advance(1)
    again = new_job(key="k", dedup="successful")

    (previewed,) = store.perform_sync(PreviewStart((again,)))
    with pytest.raises(ChainNotFound):  # a refused start writes nothing, not even this removal
        store.perform_sync(Start((again, new_job(after=("none",)))))
    with server.connect() as client:
        assert client.zcard("{passed}:w:6:resizek") == 121
        (started,) = store.perform_sync(Start((again,)))
        assert client.zrange("{passed}:w:6:resizek", 0, -1) == [b"kept"]

    assert previewed is not None
    assert previewed.first.id == started.chain.first.id == "kept"
    store.close_sync()


def test_prune_deletes_the_fields_of_empty_pending_sets(server: RedisServer) -> None:
    store = RedisStore(server.address("lines"))
    store.open_sync()

    def pending_sets() -> set[bytes]:
        with server.connect() as client:
            return {field for field in client.hkeys("{lines}") if field.startswith(b"l:")}

    store.perform_sync(Start((new_job(), new_job("low", priority=-5), new_job("other"), new_job("running"))))
    terms = tuple(TypeTerms(type, 30_000_000, 1) for type in ("resize", "low", "running"))
    jobs = store.perform_sync(ClaimJobs(terms, 3, "worker", new_token()))
    store.perform_sync(Settle(tuple(completed(job) for job in jobs if job.type != "running")))
    assert pending_sets() == {b"l:0:resize", b"l:-5:low", b"l:0:other", b"l:0:running"}

    store.perform_sync(Prune(10))

    assert pending_sets() == {b"l:0:other", b"l:0:running"}
    assert {each.type for each in store.perform_sync(GetStats())} == {"resize", "low", "other", "running"}
    store.perform_sync(Start((new_job(),)))
    assert len(store.perform_sync(ClaimJobs(TERMS, 1, "worker", new_token()))) == 1
    store.close_sync()


def test_a_user_without_the_right_to_load_scripts_is_not_permitted(product: Product) -> None:
    with run_redis(product=product) as own, own.connect() as client:
        client.execute_command("ACL", "SETUSER", "poor", "on", ">secret", "~*", "&*", "+@all", "-script")
        store = RedisStore(own.address().replace("redis://", "redis://poor:secret@"))

        with pytest.raises(NotPermitted, match="NOPERM"):
            store.open_sync()

        store.close_sync()


def test_a_user_without_the_right_to_the_keys_is_not_permitted(product: Product) -> None:
    with run_redis(product=product) as own, own.connect() as client:
        client.execute_command("ACL", "SETUSER", "poor", "on", ">secret", "~other*", "&*", "+@all")
        store = RedisStore(own.address().replace("redis://", "redis://poor:secret@"))

        with pytest.raises(NotPermitted, match="ACL"):
            store.open_sync()

        store.close_sync()


def test_a_user_without_a_command_of_the_scripts_is_not_permitted(product: Product) -> None:
    with run_redis(product=product) as own, own.connect() as client:
        client.execute_command("ACL", "SETUSER", "poor", "on", ">secret", "~*", "&*", "+@all", "-zadd")
        store = RedisStore(own.address().replace("redis://", "redis://poor:secret@"))
        store.open_sync()

        with pytest.raises(NotPermitted, match="ACL"):
            store.perform_sync(Start((new_job(),)))

        store.close_sync()


def test_the_error_of_an_unknown_command_does_not_show_its_arguments() -> None:
    text = "ERR unknown command `EVALSHA`, with args beginning with: `sha`, `1`, `key`, `marked-payload`, "

    assert str(ErrorReply(text)) == "ERR unknown command `EVALSHA`"


def test_flushed_scripts_are_loaded_again(store: RedisStore, server: RedisServer) -> None:
    jobs = tuple(new_job() for _ in range(250))
    with server.connect() as client:
        client.script_flush()

    started = store.perform_sync(Start(jobs))

    assert [each.chain.first.id for each in started] == [job.id for job in jobs]


async def test_flushed_scripts_are_loaded_again_in_async_code(server: RedisServer) -> None:
    store = RedisStore(server.address())
    await store.open()
    with server.connect() as client:
        client.script_flush()

    (started,) = await store.perform(Start((new_job(),)))

    assert not started.deduplicated
    await store.close()


def test_large_numbers_keep_all_digits(store: RedisStore) -> None:
    far = 253_402_300_799_999_999  # the last microsecond of the year 9999
    job = NewJob("id", "resize", "id", b"", at=far, timeout=2**60 + 1, keep=2**61 + 1, priority=2**53 + 1)
    delayed = NewJob("late", "resize", "late", b"", delay=2**57 + 3)

    first, second = store.perform_sync(Start((job, delayed)))

    record = first.chain.first
    assert (record.scheduled_at, record.timeout, record.keep, record.priority) == (far, 2**60 + 1, 2**61 + 1, 2**53 + 1)
    assert second.chain.first.scheduled_at == second.chain.first.created_at + 2**57 + 3
    assert store.perform_sync(GetJobs(("id", "late"))) == [first.chain.first, second.chain.first]


def test_large_numbers_keep_all_digits_through_an_attempt(store: RedisStore) -> None:
    far = 2**56 + 5
    store.perform_sync(Start((new_job(id="id"),)))
    (job,) = store.perform_sync(ClaimJobs((TypeTerms("resize", 2**55 + 1, 3),), 1, "worker", "token"))

    assert job.leased_until == (job.started_at or 0) + 2**55 + 1
    assert store.perform_sync(ReportProgress(job.claim, 0.1 + 0.2, None)) is None
    store.perform_sync(Settle((rescheduled(job, at=far),)))

    (after,) = store.perform_sync(GetJobs(("id",)))
    history = store.perform_sync(GetHistory("id"))
    assert after is not None
    assert history is not None
    assert (after.scheduled_at, after.progress, history[1][0].next_at) == (far, 0.1 + 0.2, far)


def test_a_payload_can_be_any_bytes(store: RedisStore) -> None:
    payload = bytes(range(256)) * 10
    store.perform_sync(Start((new_job(id="id", input=payload),)))
    (job,) = store.perform_sync(ClaimJobs(TERMS, 1, "worker", "token"))
    store.perform_sync(Settle((completed(job, payload),)))

    (after,) = store.perform_sync(GetJobs(("id",)))

    assert after is not None
    assert (after.input, after.output) == (payload, payload)


def test_a_key_that_is_cancelled_and_started_again_never_runs_the_cancelled_payload(store: RedisStore) -> None:
    for round in range(5):
        store.perform_sync(Start((new_job(id=f"old-{round}", key="k", input=b"old"),)))
        store.perform_sync(CancelChains((f"old-{round}",)))
    store.perform_sync(Start((new_job(id="new", key="k", input=b"new"),)))

    jobs = store.perform_sync(ClaimJobs(TERMS, 10, "worker", new_token()))

    assert [(job.id, job.input) for job in jobs] == [("new", b"new")]


def test_pruning_one_chain_leaves_the_others(store: RedisStore) -> None:
    clock = store.clock = ManualClock()
    store.perform_sync(Start((new_job(id="short", keep=1), new_job(id="long", keep=3600), new_job(id="ever"))))
    jobs = store.perform_sync(ClaimJobs(TERMS, 10, "worker", new_token()))
    store.perform_sync(Settle(tuple(completed(job, b"result") for job in jobs)))
    clock.advance(2)

    assert store.perform_sync(Prune(10)) == ["short"]

    assert [job and job.output for job in store.perform_sync(GetJobs(("short", "long", "ever")))] == [
        None,
        b"result",
        b"result",
    ]


def test_pruned_chains_leave_no_keys(store: RedisStore, server: RedisServer) -> None:
    store.perform_sync(Start((new_job(id="a", key="k"), new_job(id="b", after=("a",), priority=3))))
    for _ in range(2):
        jobs = store.perform_sync(ClaimJobs(TERMS, 10, "worker", new_token()))
        store.perform_sync(Settle(tuple(completed(job) for job in jobs)))
    assert store.perform_sync(Keep(("a", "b"), 0)) == [True, True]
    assert [job.status for job in store.perform_sync(GetJobs(("a", "b"))) if job] == [Status.COMPLETED] * 2

    pruned = store.perform_sync(Prune(10))

    assert set(pruned) == {"a", "b"}

    namespace = store.name.rpartition("=")[2]
    with server.connect() as client:
        left = {key.decode().partition(":")[2].partition(":")[0] for key in client.keys(f"{{{namespace}}}*")}
    # The root, the counters, and the keys for resent requests, which expire.
    assert left <= {"", "answer", "claimed", "gone", "n"}
