"""However many jobs a verb names or concerns, no script holds up the server with more than a hundred of them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from holdfast.errors import ChainNotFound, JobNotFound, StillReferenced
from holdfast.ids import new_token
from holdfast.job import Record, Status
from holdfast.lifecycle import NewJob
from holdfast.operations import (
    Cancel,
    ClaimJobs,
    Complete,
    Delete,
    Filter,
    GetJobs,
    GetStats,
    Keep,
    ListChains,
    ListJobs,
    Preview,
    Prune,
    Reap,
    RetryJobs,
    RunNow,
    Settle,
    Start,
    Step,
    TypeTerms,
)
from holdfast.stores.memory import MemoryStore
from holdfast.stores.redis import RedisStore, deleting, holding
from holdfast.stores.redis.call import Call
from holdfast.testing.builders import completed, failed, new_job
from tests.servers.redis import RedisServer

TERMS = (TypeTerms("resize", 30_000_000, 25),)
MANY = 250
BLOCKER = new_job(id="blocker")


class Crash(Exception):
    """The caller dies between two steps."""


@contextmanager
def crashing(monkeypatch: pytest.MonkeyPatch, module: Any, step: str) -> Generator[None]:
    """Whoever comes to this step dies before it."""

    def crash(*_: object) -> Generator[None]:
        raise Crash
        yield

    with monkeypatch.context() as patched:
        patched.setattr(module, step, crash)
        with pytest.raises(Crash):
            yield


def ids(prefix: str) -> tuple[str, ...]:
    return tuple(f"{prefix}-{number:03}" for number in range(MANY))


def claim(store: RedisStore) -> Record:
    (job,) = store.perform_sync(ClaimJobs(TERMS, 1, "worker", new_token()))
    return job


def waiting(store: RedisStore, **options: Any) -> Record:
    """A running blocker that very many chains wait for."""
    store.perform_sync(Start((BLOCKER,)))
    store.perform_sync(Start(tuple(new_job(id=id, after=("blocker",), **options) for id in ids("child"))))
    return claim(store)


def statuses(store: RedisStore, *names: str) -> dict[Status, int]:
    found = [job.status for job in store.perform_sync(GetJobs(names)) if job]
    return {status: found.count(status) for status in set(found)}


def test_a_chain_releases_all_who_wait_for_it(store: RedisStore) -> None:
    blocker = waiting(store)

    (settled,) = store.perform_sync(Settle((completed(blocker),)))

    assert sorted(settled.unblocked) == [(id, "resize") for id in ids("child")]
    assert statuses(store, *ids("child")) == {Status.PENDING: MANY}


def test_a_chain_completed_from_outside_releases_all_who_wait_for_it(store: RedisStore) -> None:
    waiting(store)

    settled = store.perform_sync(Complete("blocker", "blocker", (Step(output=b"1"),)))

    assert len(settled.unblocked) == MANY
    assert statuses(store, *ids("child")) == {Status.PENDING: MANY}


def test_what_a_dead_worker_left_to_release_the_next_reaper_releases_once(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocker = waiting(store)
    with crashing(monkeypatch, holding, "release"):
        store.perform_sync(Settle((completed(blocker),)))
    assert statuses(store, *ids("child")) == {Status.PENDING: 100, Status.BLOCKED: MANY - 100}
    # It comes while the others are not told yet, and waits for something else.
    store.perform_sync(Start((new_job(id="other", delay=60), new_job(id="late", after=("blocker", "other")))))

    store.perform_sync(Reap(("resize",), (), 10))

    assert statuses(store, *ids("child")) == {Status.PENDING: MANY}
    (late,) = store.perform_sync(GetJobs(("late",)))
    assert late is not None
    assert (late.status, late.open_blockers) == (Status.BLOCKED, 1)


def test_a_job_that_stopped_before_it_was_told_is_counted_off_all_the_same(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocker = waiting(store)
    last = ids("child")[-1]
    with crashing(monkeypatch, holding, "release"):
        store.perform_sync(Settle((completed(blocker),)))
    store.perform_sync(Cancel((last,)))
    (again,) = store.perform_sync(RetryJobs((last,)))
    assert (again.status, again.open_blockers) == (Status.BLOCKED, 1)
    store.perform_sync(Cancel((last,)))

    store.perform_sync(Reap(("resize",), (), 10))

    (again,) = store.perform_sync(RetryJobs((last,)))
    assert (again.status, again.open_blockers) == (Status.PENDING, 0)


def test_a_chain_that_fails_takes_all_with_it_that_asked_for_that(store: RedisStore) -> None:
    blocker = waiting(store, on_blocker_failure="fail")
    store.perform_sync(Start((new_job(id="far", after=(ids("child")[-1],), on_blocker_failure="fail"),)))

    store.perform_sync(Settle((failed(blocker),)))

    assert statuses(store, *ids("child"), "far") == {Status.FAILED: MANY + 1}
    (stats,) = store.perform_sync(GetStats())
    assert stats.counts == {Status.FAILED: MANY + 2}


def test_very_many_are_cancelled_retried_and_hurried_or_none(store: RedisStore) -> None:
    store.perform_sync(Start(tuple(new_job(id=id, delay=60) for id in ids("job"))))
    with pytest.raises(ChainNotFound):
        store.perform_sync(Cancel((*ids("job"), "unknown")))
    with pytest.raises(JobNotFound):
        store.perform_sync(RunNow((*ids("job"), "unknown")))
    assert statuses(store, *ids("job")) == {Status.PENDING: MANY}
    assert store.perform_sync(GetStats())[0].scheduled == MANY

    cancelled = store.perform_sync(Cancel(ids("job")))
    with pytest.raises(JobNotFound):
        store.perform_sync(RetryJobs((*ids("job"), "unknown")))
    assert statuses(store, *ids("job")) == {Status.CANCELLED: MANY}
    retried = store.perform_sync(RetryJobs(ids("job")))

    assert [chain.last.status for chain in cancelled] == [Status.CANCELLED] * MANY
    assert [(job.id, job.status) for job in retried] == [(id, Status.PENDING) for id in ids("job")]
    assert [job.id for job in store.perform_sync(RunNow(ids("job")))] == list(ids("job"))


def test_a_completion_may_start_more_chains_than_a_command_takes_arguments(store: RedisStore) -> None:
    store.perform_sync(Start((new_job(), new_job())))
    plain, starting = store.perform_sync(ClaimJobs(TERMS, 2, "worker", new_token()))
    starts = tuple(new_job(priority=number) for number in range(9000))

    settled = store.perform_sync(Settle((completed(plain), completed(starting, starts=starts))))

    assert [each.written for each in settled] == [True, True]
    (stats,) = store.perform_sync(GetStats())
    assert (stats.due, stats.counts) == (9000, {Status.COMPLETED: 2, Status.PENDING: 9000})


def test_a_job_may_wait_for_more_chains_than_a_command_takes_arguments(store: RedisStore) -> None:
    blockers = tuple(new_job() for _ in range(9000))
    store.perform_sync(Start(blockers))

    store.perform_sync(Start((new_job(), new_job(id="last", after=tuple(job.id for job in blockers)))))

    (last,) = store.perform_sync(GetJobs(("last",)))
    assert last is not None
    assert (last.status, last.open_blockers) == (Status.BLOCKED, 9000)
    assert store.perform_sync(GetStats())[0].due == 9001


def chained(store: RedisStore) -> None:
    """Each waits for the one before it, and all for the first: the order in which they may go is the reverse."""
    jobs = [NewJob("root", "resize", "root", b"")]
    for id in ids("job"):
        jobs.append(NewJob(id, "resize", id, b"", after=("root", jobs[-1].id)))
    store.perform_sync(Start(tuple(jobs)))


def test_very_many_are_deleted_with_all_they_wait_for(store: RedisStore) -> None:
    chained(store)

    deleted = store.perform_sync(Delete((ids("job")[-1],), cascade=True))

    assert sorted(deleted) == sorted(["root", *ids("job")])
    assert store.perform_sync(GetStats()) == []


def test_a_job_that_waits_for_one_of_very_many_keeps_all_of_them(store: RedisStore) -> None:
    chained(store)
    store.perform_sync(Start((new_job(id="outside", after=("root",)),)))

    with pytest.raises(StillReferenced) as refused:
        store.perform_sync(Delete((ids("job")[-1],), cascade=True))

    assert refused.value.references == [("root", "outside")]
    assert statuses(store, "root", *ids("job")) == {Status.PENDING: 1, Status.BLOCKED: MANY}


def without_blocker(store: RedisStore) -> list[str]:
    """Jobs of `chained` that are there while the one that they wait for is not."""
    there = {job.id for job in store.perform_sync(GetJobs(("root", *ids("job")))) if job}
    before = dict(zip(ids("job"), ("root", *ids("job")), strict=False))
    return [id for id in ids("job") if id in there and not {before[id], "root"} <= there]


@pytest.mark.parametrize("steps_done", range(1, 5))
def test_a_deletion_that_was_broken_off_leaves_no_job_without_its_blocker_and_can_be_finished(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch, steps_done: int
) -> None:
    chained(store)
    removed = 0

    def dying(script: str, *given: Any) -> Call:
        nonlocal removed
        removed += script == "remove"
        if removed > steps_done:
            raise Crash
        return Call(script, *given)

    with monkeypatch.context() as patched:
        patched.setattr(deleting, "Call", dying)
        with pytest.raises(Crash):
            store.perform_sync(Delete(("root", *ids("job"))))
    assert without_blocker(store) == []

    store.perform_sync(Delete(("root", *ids("job"))))

    assert store.perform_sync(GetStats()) == []


def test_a_chain_that_somebody_begins_to_wait_for_keeps_those_that_it_waits_for(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    chained(store)

    def nobody(*_: object) -> Generator[Any, Any, list[tuple[str, str]]]:
        """Looks, and then somebody begins to wait."""
        store.perform_sync(Start((new_job(id="outside", after=(ids("job")[50],)),)))
        monkeypatch.undo()
        return []
        yield

    monkeypatch.setattr(deleting, "_stranded", nobody)
    with pytest.raises(StillReferenced) as refused:
        store.perform_sync(Delete(("root", *ids("job"))))

    assert refused.value.references == [(ids("job")[50], "outside")]
    assert statuses(store, "root", *ids("job")) == {Status.PENDING: 1, Status.BLOCKED: 51}
    assert without_blocker(store) == []


def test_a_preview_of_very_many_finds_what_memory_finds(store: RedisStore) -> None:
    memory = MemoryStore()
    jobs = tuple(NewJob(id, "resize", id, b"", key=f"key-{number % 120}") for number, id in enumerate(ids("job")))
    kept = NewJob("kept", "resize", "kept", b"", key="key-7")
    found: list[list[str | None]] = []
    for each in (memory, store):
        each.perform_sync(Start((kept,)))
        chains = each.perform_sync(Preview(jobs))
        found.append([None if chain is None else chain.first.id for chain in chains])

    assert found[0] == found[1]


def test_chains_that_are_still_needed_do_not_hold_up_the_pruning_of_others(store: RedisStore) -> None:
    store.perform_sync(Start(tuple(new_job(id=id) for id in (*ids("needed"), "free"))))
    store.perform_sync(Start((new_job(id="open"), new_job(id="last", after=(*ids("needed"), "open")))))
    jobs = store.perform_sync(ClaimJobs(TERMS, MANY + 1, "worker", new_token()))
    store.perform_sync(Settle(tuple(completed(job) for job in jobs)))
    store.perform_sync(Keep((*ids("needed"), "free"), 0))

    assert store.perform_sync(Prune(10)) == ["free"]


def test_what_people_look_for_is_found_at_once_among_very_many(store: RedisStore, server: RedisServer) -> None:
    store.perform_sync(Start((new_job(id="one"), new_job(id="two", after=("one",)))))
    store.perform_sync(Start(tuple(new_job(delay=60) for _ in range(2100))))
    store.perform_sync(Cancel(("one",)))
    cancelled, blocked = Filter(statuses=(Status.CANCELLED,)), Filter(statuses=(Status.BLOCKED,))
    store.perform_sync(ListJobs(cancelled, 10))
    store.perform_sync(ListChains(cancelled, 10))
    with server.connect() as client:
        client.config_resetstat()

        jobs = store.perform_sync(ListJobs(cancelled, 10)) + store.perform_sync(ListJobs(blocked, 10))
        chains = store.perform_sync(ListChains(cancelled, 10)) + store.perform_sync(ListChains(blocked, 10))

        assert client.info("commandstats")["cmdstat_evalsha"]["calls"] == 4
    assert [job.id for job in jobs] == [chain.first.id for chain in chains] == ["one", "two"]


def test_no_call_names_more_than_a_hundred_jobs(store: RedisStore, server: RedisServer) -> None:
    with server.connect() as client:
        client.config_set("slowlog-log-slower-than", 0)
        client.config_set("slowlog-max-len", 10_000)
        client.slowlog_reset()
    try:
        blocker = waiting(store)
        store.perform_sync(Settle((completed(blocker),)))
        store.perform_sync(RunNow(ids("child")))
        jobs = store.perform_sync(ClaimJobs(TERMS, MANY, "worker", new_token()))
        store.perform_sync(Settle(tuple(failed(job) for job in jobs)))
        store.perform_sync(RetryJobs(ids("child")))
        store.perform_sync(Cancel(ids("child")))
        store.perform_sync(Delete(("blocker", *ids("child"))))
        with server.connect() as client:
            calls = [entry["command"].split() for entry in client.slowlog_get(10_000)]
    finally:
        with server.connect() as client:
            client.config_set("slowlog-log-slower-than", 10_000)
            client.slowlog_reset()

    declared = [int(call[2]) for call in calls if call[0] == b"EVALSHA"]
    # Besides the jobs: the root, and the key that never exists.
    assert max(declared) == 102
