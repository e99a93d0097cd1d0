"""Why a claim no longer holds, and where the reaper leaves a job."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from holdfast.core.failure import read_error
from holdfast.core.lifecycle import create
from holdfast.core.lost_claims import lost_reason, reap
from holdfast.core.record import UNLIMITED, Record, Status
from holdfast.testing.builders import new_job


def running(max_attempts: int) -> Record:
    job = create(new_job(max_attempts=max_attempts), now=5, status=Status.RUNNING)
    return replace(job, attempt=2, worker="one", token="t", leased_until=9, renewed_at=6, mismatches=1, mismatched_at=5)


def test_a_claim_holds_only_while_the_job_is_running_with_its_token() -> None:
    held = [(status, token) for status in Status for token in ("t", "u") if lost_reason(status, token, "t") is None]

    assert held == [(Status.RUNNING, "t")]


@pytest.mark.parametrize(
    ("status", "current", "reason"),
    [
        (None, None, "not_found"),
        ("running", "u", "taken_by_another_worker"),
        ("pending", None, "taken_by_another_worker"),
        ("pending", "t", "taken_by_another_worker"),
        ("failed", "t", "taken_by_another_worker"),
        ("completed", "t", "already_completed"),
        ("cancelled", None, "cancelled"),
    ],
)
def test_the_status_of_the_job_gives_the_reason(status: str | None, current: str | None, reason: str) -> None:
    assert lost_reason(status, current, "t") == reason


@pytest.mark.parametrize("limit", [3, UNLIMITED])
def test_a_job_with_attempts_left_becomes_pending_and_due(limit: int) -> None:
    reaped = reap(running(limit), 10)

    assert (reaped.status, reaped.scheduled_at, reaped.finished_at, reaped.attempt) == (Status.PENDING, 10, None, 2)
    assert (reaped.worker, reaped.token, reaped.leased_until, reaped.renewed_at) == (None, None, None, None)
    assert (reaped.mismatches, reaped.mismatched_at) == (None, None)


def test_a_job_without_attempts_left_fails_with_the_worker_in_the_error() -> None:
    reaped = reap(running(2), 10)

    assert (reaped.status, reaped.scheduled_at, reaped.finished_at) == (Status.FAILED, 5, 10)
    assert read_error(reaped.error) == "LeaseLost: lease lost: worker one stopped renewing it"
