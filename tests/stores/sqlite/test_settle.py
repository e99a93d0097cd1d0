"""Completions that are written together, with libraries that have UPDATE FROM and with older ones."""

from __future__ import annotations

import pytest

from holdfast.core.clock import SECOND
from holdfast.core.record import Status
from holdfast.engine.operations import ClaimJobs, GetJobs, Settle, Settled, Start, TypeTerms
from holdfast.stores.sqlite import SqliteStore
from holdfast.stores.sqlite.verbs import settle
from holdfast.testing.builders import completed, new_job


@pytest.mark.parametrize("update_from", [True, False])
@pytest.mark.parametrize("number", [1, 31, 32, 33, 100])
def test_each_completion_of_a_batch_is_written_once(
    open_store: SqliteStore, monkeypatch: pytest.MonkeyPatch, number: int, update_from: bool
) -> None:
    monkeypatch.setattr(settle, "HAS_UPDATE_FROM", update_from)
    open_store.perform_sync(Start(tuple(new_job() for _ in range(number))))
    jobs = open_store.perform_sync(ClaimJobs((TypeTerms("resize", 30 * SECOND, 25),), number, "w", "token"))

    answers = open_store.perform_sync(Settle(tuple(completed(job, job.id.encode()) for job in jobs)))

    found = open_store.perform_sync(GetJobs(tuple(job.id for job in jobs)))
    assert answers == [Settled()] * number
    assert [(job and job.status, job and job.output) for job in found] == [
        (Status.COMPLETED, job.id.encode()) for job in jobs
    ]
