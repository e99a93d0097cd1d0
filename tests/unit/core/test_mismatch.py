"""The decision about a job whose input a worker cannot read."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core.clock import SECOND
from holdfast.core.failure import read_error
from holdfast.core.lifecycle import Mismatched, Settlement, create
from holdfast.core.record import Record, Status
from holdfast.core.retry import Retry
from holdfast.core.settle import settle
from holdfast.errors import PayloadRefused
from holdfast.testing.builders import new_job

STEADY = Retry(initial=10, multiplier=2, maximum=300, jitter=0)
HOUR = 3600 * SECOND
BEGUN = 1_000_000 * SECOND


def running(*, mismatches: int | None = None, since: int | None = None, attempt: int = 1, limit: int = 3) -> Record:
    """A job claimed at BEGUN, whose first mismatch in a row was `since` microseconds before."""
    return msgspec.structs.replace(
        create(new_job()), status=Status.RUNNING, attempt=attempt, max_attempts=limit, token="t", worker="w",
        started_at=BEGUN, mismatches=mismatches, mismatched_at=None if since is None else BEGUN - since,
    )  # fmt: skip


def mismatch(job: Record, *, retry: Retry = STEADY, timeout: float = 3600) -> Settlement:
    return settle(job, Mismatched(PayloadRefused("resize: no such parameter")), retry, mismatch_timeout=timeout)


@pytest.mark.parametrize(("before", "seconds"), [(None, 10), (1, 20), (3, 80), (30, 300)])
def test_the_delay_is_that_of_the_retry_by_the_mismatches_in_a_row(before: int | None, seconds: int) -> None:
    job = running(mismatches=before, since=None if before is None else 60 * SECOND)

    settlement = mismatch(job)

    assert (settlement.status, settlement.outcome, settlement.claim) == (Status.PENDING, "mismatched", job.claim)
    assert settlement.delay == seconds * SECOND
    assert str(read_error(settlement.error)) == "PayloadRefused: resize: no such parameter"


def test_the_last_attempt_of_a_job_is_returned_too() -> None:
    assert mismatch(running(attempt=3, limit=3)).status is Status.PENDING


def test_the_number_of_the_attempt_does_not_matter() -> None:
    assert mismatch(running(attempt=20, limit=25)).delay == 10 * SECOND


def test_a_retry_without_a_delay_does_not_make_a_worker_spin() -> None:
    at_once = Retry(initial=0, maximum=0, jitter=0)
    delays = [
        mismatch(running(mismatches=before or None, since=0 if before else None), retry=at_once).delay / SECOND
        for before in range(8)
    ]

    assert delays == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5]


def test_the_job_fails_when_the_timeout_has_passed_since_the_first_mismatch() -> None:
    settlement = mismatch(running(mismatches=20, since=HOUR))

    assert (settlement.status, settlement.outcome) == (Status.FAILED, "mismatched")
    error = read_error(settlement.error)
    assert error is not None
    assert error.type == "PayloadRefused"
    assert error.message == "resize: no such parameter. No worker accepted it within 3600 s (mismatch_timeout)"


def test_the_last_delay_ends_with_the_timeout() -> None:
    settlement = mismatch(running(mismatches=20, since=HOUR - 7 * SECOND))

    assert (settlement.status, settlement.delay) == (Status.PENDING, 7 * SECOND)


def test_a_timeout_of_zero_fails_the_job_at_once() -> None:
    assert mismatch(running(), timeout=0).status is Status.FAILED


@settings(deadline=None)
@given(
    retry=st.builds(
        Retry,
        initial=st.floats(0, 400),
        multiplier=st.floats(1, 10),
        maximum=st.floats(0, 1000),
        jitter=st.floats(0, 1),
        max_attempts=st.none() | st.integers(1, 50),
    ),
    timeout=st.floats(0, 1_000),
    late=st.lists(st.floats(0, 100), min_size=1),
)
def test_a_worker_alone_fails_the_job_after_the_timeout_and_in_few_tries(
    retry: Retry, timeout: float, late: list[float]
) -> None:
    now, first, tries = BEGUN, None, 0
    while True:
        job = msgspec.structs.replace(running(mismatches=tries or None), started_at=now, mismatched_at=first)
        settlement = mismatch(job, retry=retry, timeout=timeout)
        if settlement.status is Status.FAILED:
            break
        first = now if first is None else first
        tries += 1
        now += settlement.delay + round(late[tries % len(late)] * SECOND)

    waited = now - (now if first is None else first)
    assert waited >= round(timeout * SECOND) - 1
    assert waited <= (timeout + max(late)) * SECOND + 1
    assert tries <= 8 + timeout / 5
