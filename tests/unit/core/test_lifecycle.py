"""What an attempt's outcome means for its job."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from holdfast.core.clock import SECOND
from holdfast.core.failure import read_error
from holdfast.core.lifecycle import (
    Cancel,
    Continued,
    Fail,
    NewJob,
    Outcome,
    Raised,
    Released,
    Reschedule,
    Returned,
    Settlement,
    create,
)
from holdfast.core.permanent_failure import has_attempts_left
from holdfast.core.record import UNLIMITED, Record, Status
from holdfast.core.retry import Retry
from holdfast.core.settle import settle
from holdfast.testing.builders import new_job, next_job

STEADY = Retry(initial=10, multiplier=2, maximum=300, jitter=0)


def running(*, attempt: int = 1, max_attempts: int | None = 3) -> Record:
    job = create(new_job())
    return msgspec.structs.replace(
        job, status=Status.RUNNING, attempt=attempt, max_attempts=max_attempts, token="t", worker="w"
    )


def settled(outcome: Outcome, *, attempt: int = 1, max_attempts: int | None = 3) -> Settlement:
    job = running(attempt=attempt, max_attempts=max_attempts)
    settlement = settle(job, outcome, STEADY)
    assert settlement.claim == job.claim
    return settlement


def text(settlement: Settlement) -> str:
    return str(read_error(settlement.error))


def test_a_value_completes_the_job() -> None:
    settlement = settled(Returned(b"1"))

    assert (settlement.status, settlement.outcome, settlement.output) == (Status.COMPLETED, "completed", b"1")
    assert (settlement.error, settlement.continuation) == (None, None)


def test_a_continuation_completes_the_job_and_hands_over() -> None:
    following = next_job(running())

    settlement = settled(Continued(following))

    assert (settlement.status, settlement.outcome, settlement.output) == (Status.COMPLETED, "completed", None)
    assert settlement.continuation == following


def test_a_release_gives_the_job_back_at_once_and_without_an_error() -> None:
    settlement = settled(Released(), attempt=3, max_attempts=3)

    assert (settlement.status, settlement.outcome) == (Status.PENDING, "released")
    assert (settlement.delay, settlement.error) == (0, None)


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 10), (2, 20), (4, 80), (20, 300)])
def test_an_error_with_attempts_left_is_retried_after_the_backoff(attempt: int, seconds: int) -> None:
    settlement = settled(Raised(ValueError("no luck")), attempt=attempt, max_attempts=25)

    assert (settlement.status, settlement.outcome) == (Status.PENDING, "failed")
    assert settlement.delay == seconds * SECOND
    assert text(settlement) == "ValueError: no luck"


def test_an_error_in_the_last_attempt_fails_the_job() -> None:
    settlement = settled(Raised(ValueError("no luck")), attempt=3, max_attempts=3)

    assert (settlement.status, settlement.outcome) == (Status.FAILED, "failed")
    assert text(settlement) == "ValueError: no luck"


@pytest.mark.parametrize("limit", [None, UNLIMITED])
def test_a_job_without_a_limit_is_always_tried_again(limit: int | None) -> None:
    settlement = settled(Raised(ValueError()), attempt=10_000, max_attempts=limit)

    assert settlement.status is Status.PENDING


def test_fail_ends_the_job_with_attempts_left() -> None:
    settlement = settled(Raised(Fail("no such image")))

    assert (settlement.status, settlement.outcome) == (Status.FAILED, "failed")
    assert text(settlement) == "Fail: no such image"


@pytest.mark.parametrize("attempt", [1, 3])
def test_cancel_cancels_the_job_in_any_attempt(attempt: int) -> None:
    settlement = settled(Raised(Cancel("order withdrawn")), attempt=attempt)

    assert (settlement.status, settlement.outcome) == (Status.CANCELLED, "cancelled")
    assert text(settlement) == "Cancel: order withdrawn"


def test_reschedule_waits_as_long_as_it_says() -> None:
    settlement = settled(Raised(Reschedule(delay=timedelta(minutes=2))))

    assert (settlement.status, settlement.outcome, settlement.error) == (Status.PENDING, "rescheduled", None)
    assert (settlement.delay, settlement.at) == (120 * SECOND, None)


def test_reschedule_names_a_moment() -> None:
    settlement = settled(Raised(Reschedule(at=datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC))))

    assert settlement.at == 5 * SECOND


def test_reschedule_keeps_the_error_it_was_raised_from() -> None:
    error = Reschedule(delay=1)
    error.__cause__ = ConnectionError("gateway down")

    assert text(settled(Raised(error))) == "ConnectionError: gateway down"


def test_reschedule_in_the_last_attempt_fails_the_job() -> None:
    assert settled(Raised(Reschedule(delay=1)), attempt=3, max_attempts=3).status is Status.FAILED


def test_reschedule_takes_a_delay_or_a_moment_and_not_both() -> None:
    with pytest.raises(TypeError, match="either"):
        Reschedule()
    with pytest.raises(TypeError, match="either"):
        Reschedule(1, at=datetime.now(UTC))
    with pytest.raises(ValueError, match="time zone"):
        Reschedule(at=datetime(2026, 1, 1))  # noqa: DTZ001  (a naive one is what is refused)


def test_errors_that_are_not_exceptions_are_settled_too() -> None:
    assert settled(Raised(KeyboardInterrupt())).status is Status.PENDING


@pytest.mark.parametrize(
    ("attempt", "limit", "left"), [(1, 2, True), (2, 2, False), (3, 2, False), (9, None, True), (9, UNLIMITED, True)]
)
def test_attempts_are_left_while_fewer_were_made_than_allowed(attempt: int, limit: int | None, left: bool) -> None:
    assert has_attempts_left(running(attempt=attempt, max_attempts=limit)) is left


def test_a_created_record_is_due_after_its_delay_at_its_moment_or_now() -> None:
    now = 1_000 * SECOND

    assert create(new_job(delay=5), now).scheduled_at == now + 5 * SECOND
    assert create(new_job(at=now + 7, delay=5), now).scheduled_at == now + 7
    assert create(new_job(at=now - 7), now).scheduled_at == now
    assert create(new_job(delay=-7), now).scheduled_at == now


def test_a_record_contains_every_field_of_its_new_job() -> None:
    values: dict[str, Any] = {
        "id": "job-2", "type": "resize", "chain_id": "job-1", "input": b"1", "index": 1, "priority": 2,
        "max_attempts": 3, "timeout": 4, "keep": 5, "key": "k", "on_blocker_failure": "fail", "details": "{}",
        "dedup_for": 6,
    }  # fmt: skip
    copied = [name for name in NewJob.__struct_fields__ if name in Record.__struct_fields__]

    record = create(NewJob(**values), now=7, seq=8)

    assert sorted(copied) == sorted(values), "set the new field in this test"
    assert {name: getattr(record, name) for name in copied} == values
