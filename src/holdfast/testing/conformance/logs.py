"""Store logs: what the handler of an attempt logged is part of the job's history."""

from __future__ import annotations

from holdfast.core.record import Claim
from holdfast.engine.operations import LOG, AttemptLog, Delete, GetHistory, PastAttempt, SaveLogs
from holdfast.testing.builders import completed, failed, retrying
from holdfast.testing.conformance.harness import Harness

BYTES = "line ä\nline \x00".encode() + bytes(range(256))


async def a_log_is_kept_before_its_attempt(harness: Harness) -> None:
    job = await harness.claimed()

    await harness.perform(SaveLogs((AttemptLog(job.claim, BYTES),)))
    await harness.settled(failed(job))

    log, attempt = await harness.past(job.id)
    assert log == PastAttempt(1, job.worker, job.started_at, log.ended_at, LOG, BYTES, None)
    assert (attempt.number, attempt.started_at, attempt.outcome) == (1, job.started_at, "failed")


async def a_completed_attempt_has_a_log(harness: Harness) -> None:
    job = await harness.claimed()

    await harness.perform(SaveLogs((AttemptLog(job.claim, b"text"),)))
    await harness.settled(completed(job))

    (log,) = await harness.past(job.id)
    assert (log.number, log.started_at, log.error) == (1, job.started_at, b"text")


async def each_attempt_has_its_own_log(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.perform(SaveLogs((AttemptLog(job.claim, b"first"),)))
    await harness.settled(retrying(job))
    again = await harness.claim_one()

    await harness.perform(SaveLogs((AttemptLog(again.claim, b"second"),)))
    await harness.settled(completed(again))

    logs = [each for each in await harness.past(job.id) if each.outcome == LOG]
    assert [(each.number, each.error) for each in logs] == [(1, b"first"), (2, b"second")]


async def a_log_of_a_lost_claim_is_ignored(harness: Harness) -> None:
    job = await harness.claimed()
    other = await harness.claimed()
    await harness.settled(completed(other))

    await harness.perform(
        SaveLogs(
            (
                AttemptLog(Claim(job.id, "another token"), b"1"),
                AttemptLog(other.claim, b"2"),
                AttemptLog(Claim("no such job", "token"), b"3"),
                AttemptLog(job.claim, b"4"),
            )
        )
    )

    assert [each.error for each in await harness.past(job.id)] == [b"4"]
    assert await harness.past(other.id) == []


async def a_log_does_not_change_the_job(harness: Harness) -> None:
    job = await harness.claimed()
    before = await harness.everything()

    await harness.perform(SaveLogs((AttemptLog(job.claim, b"text"),)))

    assert await harness.everything() == before


async def logs_are_deleted_with_their_job(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.perform(SaveLogs((AttemptLog(job.claim, b"text"),)))
    await harness.settled(completed(job))

    await harness.perform(Delete((job.chain_id,)))

    assert await harness.perform(GetHistory(job.id)) is None


async def many_logs_are_stored_at_once(harness: Harness) -> None:
    jobs = [await harness.claimed() for _ in range(3)]

    await harness.perform(SaveLogs(tuple(AttemptLog(job.claim, job.id.encode()) for job in jobs)))

    for job in jobs:
        assert [each.error for each in await harness.past(job.id)] == [job.id.encode()]
