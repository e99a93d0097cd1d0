"""No script handles more than a hundred jobs, however many the verb names or affects."""

from __future__ import annotations

import pytest

from holdfast.core.ids import new_token
from holdfast.core.lifecycle import NewJob
from holdfast.core.record import Status
from holdfast.engine.operations import (
    CancelChains,
    ClaimJobs,
    Complete,
    Completion,
    Delete,
    GetJobs,
    GetStats,
    PreviewStart,
    Reap,
    RetryJobs,
    RunNow,
    Settle,
    Start,
)
from holdfast.errors import ChainNotFound, JobNotFound
from holdfast.stores.memory import MemoryStore
from holdfast.stores.redis import RedisStore
from holdfast.stores.redis.verbs import settle
from holdfast.testing.builders import completed, failed, new_job
from tests.servers.redis import RedisServer
from tests.stores.redis.many import MANY, TERMS, crashing, ids, statuses, waiting


def test_a_completed_chain_unblocks_all_its_dependents(store: RedisStore) -> None:
    blocker = waiting(store)

    (settled,) = store.perform_sync(Settle((completed(blocker),)))

    assert sorted(settled.unblocked) == [(id, "resize") for id in ids("child")]
    assert statuses(store, *ids("child")) == {Status.PENDING: MANY}


def test_a_chain_completed_from_outside_unblocks_all_its_dependents(store: RedisStore) -> None:
    waiting(store)

    settled = store.perform_sync(Complete("blocker", "blocker", (Completion(output=b"1"),)))

    assert len(settled.unblocked) == MANY
    assert statuses(store, *ids("child")) == {Status.PENDING: MANY}


def test_the_next_reap_finishes_the_release_that_a_dead_worker_began(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocker = waiting(store)
    with crashing(monkeypatch, settle, "release"):
        store.perform_sync(Settle((completed(blocker),)))
    assert statuses(store, *ids("child")) == {Status.PENDING: 100, Status.BLOCKED: MANY - 100}
    # A new dependent, created before the release is finished, that also waits for another chain.
    store.perform_sync(Start((new_job(id="other", delay=60), new_job(id="late", after=("blocker", "other")))))

    store.perform_sync(Reap(("resize",), (), 10))

    assert statuses(store, *ids("child")) == {Status.PENDING: MANY}
    (late,) = store.perform_sync(GetJobs(("late",)))
    assert late is not None
    assert (late.status, late.open_blockers) == (Status.BLOCKED, 1)


def test_the_release_also_counts_for_a_dependent_that_was_cancelled_before(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocker = waiting(store)
    last = ids("child")[-1]
    with crashing(monkeypatch, settle, "release"):
        store.perform_sync(Settle((completed(blocker),)))
    store.perform_sync(CancelChains((last,)))
    (again,) = store.perform_sync(RetryJobs((last,)))
    assert (again.status, again.open_blockers) == (Status.BLOCKED, 1)
    store.perform_sync(CancelChains((last,)))

    store.perform_sync(Reap(("resize",), (), 10))

    (again,) = store.perform_sync(RetryJobs((last,)))
    assert (again.status, again.open_blockers) == (Status.PENDING, 0)


def test_a_failed_chain_fails_all_dependents_that_are_set_to_fail(store: RedisStore) -> None:
    blocker = waiting(store, on_blocker_failure="fail")
    store.perform_sync(Start((new_job(id="far", after=(ids("child")[-1],), on_blocker_failure="fail"),)))

    store.perform_sync(Settle((failed(blocker),)))

    assert statuses(store, *ids("child"), "far") == {Status.FAILED: MANY + 1}
    (stats,) = store.perform_sync(GetStats())
    assert stats.counts == {Status.FAILED: MANY + 2}


def test_cancel_retry_and_run_now_of_many_jobs_change_all_or_none(store: RedisStore) -> None:
    store.perform_sync(Start(tuple(new_job(id=id, delay=60) for id in ids("job"))))
    with pytest.raises(ChainNotFound):
        store.perform_sync(CancelChains((*ids("job"), "unknown")))
    with pytest.raises(JobNotFound):
        store.perform_sync(RunNow((*ids("job"), "unknown")))
    assert statuses(store, *ids("job")) == {Status.PENDING: MANY}
    assert store.perform_sync(GetStats())[0].scheduled == MANY

    cancelled = store.perform_sync(CancelChains(ids("job")))
    with pytest.raises(JobNotFound):
        store.perform_sync(RetryJobs((*ids("job"), "unknown")))
    assert statuses(store, *ids("job")) == {Status.CANCELLED: MANY}
    retried = store.perform_sync(RetryJobs(ids("job")))

    assert [chain.last.status for chain in cancelled] == [Status.CANCELLED] * MANY
    assert [(job.id, job.status) for job in retried] == [(id, Status.PENDING) for id in ids("job")]
    assert [job.id for job in store.perform_sync(RunNow(ids("job")))] == list(ids("job"))


def test_a_refused_long_start_reports_the_number_started_and_can_be_repeated_with_ids(store: RedisStore) -> None:
    jobs = tuple(new_job(id=f"{number}") for number in range(120))

    with pytest.raises(ChainNotFound) as refused:
        store.perform_sync(Start((*jobs, new_job(after=("none",)))))
    started = store.perform_sync(Start(jobs))

    assert "at least 100 of 121 chains" in refused.value.__notes__[0]
    assert [each.deduplicated for each in started] == [True] * 100 + [False] * 20


def test_a_completion_can_start_more_chains_than_a_command_takes_arguments(store: RedisStore) -> None:
    store.perform_sync(Start((new_job(), new_job())))
    plain, starting = store.perform_sync(ClaimJobs(TERMS, 2, "worker", new_token()))
    starts = tuple(new_job(priority=number) for number in range(9000))

    settled = store.perform_sync(Settle((completed(plain), completed(starting, starts=starts))))

    assert [each.written for each in settled] == [True, True]
    (stats,) = store.perform_sync(GetStats())
    assert (stats.due, stats.counts) == (9000, {Status.COMPLETED: 2, Status.PENDING: 9000})


def test_a_completion_can_start_more_failing_chains_than_a_command_takes_arguments(store: RedisStore) -> None:
    store.perform_sync(Start((new_job(id="broken"), new_job())))
    broken, starting = store.perform_sync(ClaimJobs(TERMS, 2, "worker", new_token()))
    store.perform_sync(Settle((failed(broken),)))
    starts = tuple(new_job(after=("broken",), on_blocker_failure="fail") for _ in range(4500))

    (settled,) = store.perform_sync(Settle((completed(starting, starts=starts),)))

    assert settled.written
    (stats,) = store.perform_sync(GetStats())
    assert stats.counts == {Status.COMPLETED: 1, Status.FAILED: 4501}


def test_a_job_can_have_more_blockers_than_a_command_takes_arguments(store: RedisStore) -> None:
    blockers = tuple(new_job() for _ in range(9000))
    store.perform_sync(Start(blockers))

    store.perform_sync(Start((new_job(), new_job(id="last", after=tuple(job.id for job in blockers)))))

    (last,) = store.perform_sync(GetJobs(("last",)))
    assert last is not None
    assert (last.status, last.open_blockers) == (Status.BLOCKED, 9000)
    assert store.perform_sync(GetStats())[0].due == 9001


def test_a_preview_of_many_jobs_equals_that_of_the_memory_store(store: RedisStore) -> None:
    memory = MemoryStore()
    jobs = tuple(NewJob(id, "resize", id, b"", key=f"key-{number % 120}") for number, id in enumerate(ids("job")))
    kept = NewJob("kept", "resize", "kept", b"", key="key-7")
    found: list[list[str | None]] = []
    for each in (memory, store):
        each.perform_sync(Start((kept,)))
        chains = each.perform_sync(PreviewStart(jobs))
        found.append([None if chain is None else chain.first.id for chain in chains])

    assert found[0] == found[1]


def test_many_dependent_chains_are_cancelled_together_as_in_the_memory_store(store: RedisStore) -> None:
    blockers = tuple(new_job(id=id) for id in ids("blocker"))
    waiting = tuple(
        new_job(id=id, after=(blocker,), on_blocker_failure="fail")
        for id, blocker in zip(ids("job"), ids("blocker"), strict=True)
    )
    far = new_job(id="far", after=(ids("job")[-1],), on_blocker_failure="fail")
    found: list[list[Status]] = []

    for each in (MemoryStore(), store):
        each.perform_sync(Start((*blockers, *waiting, far)))
        chains = each.perform_sync(CancelChains((*ids("blocker"), *ids("job"))))
        (left,) = each.perform_sync(GetJobs(("far",)))
        assert left is not None
        found.append([*(chain.last.status for chain in chains), left.status])

    assert found[1] == found[0] == [*[Status.CANCELLED] * 2 * MANY, Status.FAILED]


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
        store.perform_sync(CancelChains(ids("child")))
        store.perform_sync(Delete(("blocker", *ids("child"))))
        with server.connect() as client:
            calls = [entry["command"].split() for entry in client.slowlog_get(10_000)]
    finally:
        with server.connect() as client:
            client.config_set("slowlog-log-slower-than", 10_000)
            client.slowlog_reset()

    declared = [int(call[2]) for call in calls if call[0] == b"EVALSHA"]
    # A hundred jobs, the root, and the key that never exists.
    assert max(declared) == 102
