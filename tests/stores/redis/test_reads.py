"""Reading many rows: each script reads a hundred, and the calls together find all."""

from __future__ import annotations

import pytest

from holdfast.core.ids import new_token
from holdfast.core.record import Status
from holdfast.engine.operations import (
    CancelChains,
    ClaimJobs,
    Filter,
    GetBlockers,
    GetHistory,
    ListChains,
    Listen,
    ListJobs,
    ReadEvents,
    Settle,
    Start,
    TypeTerms,
)
from holdfast.stores.memory import MemoryStore
from holdfast.stores.redis import RedisStore
from holdfast.testing.builders import new_job, rescheduled
from tests.servers.redis import RedisServer
from tests.stores.redis.many import MANY, TERMS, grown, ids


def test_blocked_and_cancelled_jobs_are_found_by_an_index(store: RedisStore, server: RedisServer) -> None:
    store.perform_sync(Start((new_job(id="one"), new_job(id="two", after=("one",)))))
    store.perform_sync(Start(tuple(new_job(delay=60) for _ in range(2100))))
    store.perform_sync(CancelChains(("one",)))
    cancelled, blocked = Filter(statuses=(Status.CANCELLED,)), Filter(statuses=(Status.BLOCKED,))
    store.perform_sync(ListJobs(cancelled, 10))
    store.perform_sync(ListChains(cancelled, 10))
    with server.connect() as client:
        client.config_resetstat()

        jobs = [job for wanted in (cancelled, blocked) for job in store.perform_sync(ListJobs(wanted, 10))]
        chains = [chain for wanted in (cancelled, blocked) for chain in store.perform_sync(ListChains(wanted, 10))]

        assert client.info("commandstats")["cmdstat_evalsha"]["calls"] == 4
    assert [job.id for job in jobs] == [chain.first.id for chain in chains] == ["one", "two"]


def test_running_jobs_are_found_without_reading_all_rows(store: RedisStore, server: RedisServer) -> None:
    store.perform_sync(Start(tuple(new_job(id=id) for id in ids("job"))))
    store.perform_sync(Start((new_job("other", id="other"),)))
    store.perform_sync(ClaimJobs((*TERMS, TypeTerms("other", 30_000_000, 1)), MANY + 1, "worker", new_token()))
    store.perform_sync(Start(tuple(new_job(delay=60) for _ in range(3000))))
    running, narrow = Filter(statuses=(Status.RUNNING,)), Filter(statuses=(Status.RUNNING,), types=("other",))
    with server.connect() as client:
        client.config_resetstat()

        chains = [chain.first.id for chain in store.perform_sync(ListChains(running, MANY * 2))]
        listed: list[str] = []
        before = None
        while page := store.perform_sync(ListJobs(running, 60, before)):
            listed += [job.id for job in page]
            before = page[-1].seq

        assert client.info("commandstats")["cmdstat_hget"]["calls"] < 20 * MANY
    assert listed == chains == ["other", *reversed(ids("job"))]
    assert [job.id for job in store.perform_sync(ListJobs(narrow, 10))] == ["other"]
    assert [chain.first.id for chain in store.perform_sync(ListChains(narrow, 10))] == ["other"]
    assert store.perform_sync(ListJobs(running, 0)) == []


def test_a_script_reads_at_most_a_hundred_rows(store: RedisStore, server: RedisServer) -> None:
    store.perform_sync(Start(tuple(new_job(id=id, delay=60) for id in ids("job"))))
    store.perform_sync(ListJobs(Filter(types=("none",)), 10))
    with server.connect() as client:
        client.config_resetstat()

        assert store.perform_sync(ListJobs(Filter(types=("none",)), 10)) == []

        commands = client.info("commandstats")
    assert (commands["cmdstat_evalsha"]["calls"], commands["cmdstat_hget"]["calls"]) == (3, MANY)


@pytest.mark.parametrize("wanted", [Filter(chain_id="long"), Filter(types=("resize",), chain_id="long"), Filter()])
@pytest.mark.parametrize("limit", [7, 100, 120, 1000])
def test_pages_of_a_long_chain_equal_those_of_the_memory_store(store: RedisStore, wanted: Filter, limit: int) -> None:
    found: list[list[str]] = []
    chains: list[list[str]] = []
    for each in (MemoryStore(), store):
        grown(each, "long", MANY)
        each.perform_sync(Start((new_job(id="other", delay=60),)))
        listed: list[str] = []
        before = None
        while page := each.perform_sync(ListJobs(wanted, limit, before)):
            listed += [job.id for job in page]
            before = page[-1].seq
        found.append(listed)
        chains.append([chain.first.id for chain in each.perform_sync(ListChains(wanted, limit))])

    assert found[1] == found[0]
    assert len(found[1]) >= MANY
    assert chains[1] == chains[0]


def test_all_blockers_attempts_and_events_are_read_in_several_calls(store: RedisStore) -> None:
    first = store.perform_sync(Listen("test", 60_000_000))
    store.perform_sync(Start(tuple(new_job("other", id=id) for id in ids("blocker"))))
    store.perform_sync(Start((new_job("late", id="waits", after=ids("blocker")), new_job(id="tried"))))
    for _ in range(MANY):
        (job,) = store.perform_sync(ClaimJobs(TERMS, 1, "worker", new_token()))
        store.perform_sync(Settle((rescheduled(job),)))

    blockers, none = store.perform_sync(GetBlockers(("waits", "tried")))
    history = store.perform_sync(GetHistory("tried"))
    events = store.perform_sync(ReadEvents(first, 3 * MANY))

    assert [chain.first.id for chain in blockers] == list(ids("blocker"))
    assert none == []
    assert history is not None
    assert [past.number for past in history[1]] == list(range(1, MANY + 1))
    assert [event.seq for event in events] == list(range(first + 1, first + 3 * MANY + 1))
