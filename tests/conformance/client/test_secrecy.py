"""No log record and no error contains a payload or a token, for any outcome of an attempt."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from holdfast.engine.operations import GetJobs
from tests.conformance.client.async_adapters import AttemptAdapter
from tests.conformance.client.harness import ClientHarness

MARKED = 867530912345


def everything_logged(caplog: pytest.LogCaptureFixture) -> str:
    formatter = logging.Formatter("%(message)s")
    return "\n".join(formatter.format(record) + repr(record.__dict__) for record in caplog.records)


async def test_no_log_record_and_no_error_shows_a_payload_or_a_token(
    harness: ClientHarness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def finishes(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            return done.output(number)

    async def undoes(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            done.output(number)
            raise RuntimeError("undone")

    async def misfits(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            return done.output({number})

    chains = [
        await harness.client.start(harness.job(body).bind(MARKED), max_attempts=1)
        for body in (finishes, undoes, misfits)
    ]
    await harness.drain()

    jobs = [await harness.client.get_job(chain.id) for chain in chains]
    records = await harness.store.perform(GetJobs(tuple(chain.id for chain in chains)))
    tokens = [record.token for record in records if record is not None and record.token is not None]
    shown = everything_logged(caplog)
    assert [job.status for job in jobs] == ["completed", "failed", "failed"]
    assert tokens
    for secret in (str(MARKED), *tokens):
        assert secret not in shown
        for job in jobs[1:]:
            assert secret not in job.error + job.error.traceback
    assert not any(secret in repr(record) for record in records for secret in (str(MARKED), *tokens))
