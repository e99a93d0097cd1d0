"""A lane that becomes free between a claim and the sleep of the worker: its next job does not wait for a poll."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import Limit
from holdfast.core.ids import new_token
from holdfast.engine.operations import ClaimJobs, NextDue, Operation, Settle, TypeTerms
from holdfast.testing.builders import completed
from tests.conformance.client.harness import ClientHarness, in_time, value

NEVER = 3600.0
"""Seconds between two polls of the worker: more than any test takes."""
WORKER = "waiting"


@pytest.mark.parametrize("moment", [ClaimJobs, NextDue], ids=["after the claim", "after the read of the next due time"])
async def test_a_lane_that_becomes_free_before_the_sleep_wakes_the_worker(
    harness: ClientHarness, monkeypatch: pytest.MonkeyPatch, moment: type[Operation[Any]]
) -> None:
    gpu = Limit("gpu", 1)
    hold = harness.jobs.job(name="hold", limits=[gpu])(value)
    render = harness.jobs.job(name="render", limits=[Limit("customer", 1, by="number"), gpu])(value)
    await harness.client.start(hold.bind(1))
    terms = (TypeTerms("hold", 3_600_000_000, 25),)
    (holder,) = await harness.store.perform(ClaimJobs(terms, 1, "other", new_token()))
    waiting = await harness.client.start(render.bind(2))
    reached, free = asyncio.Event(), asyncio.Event()
    perform = harness.store.perform
    claims: list[int] = []

    async def paused(operation: Operation[Any]) -> Any:
        """Let the worker wait at its first operation of this kind after a claim, until the lane is free."""
        answer = await perform(operation)
        if isinstance(operation, ClaimJobs) and operation.worker == WORKER:
            claims.append(len(answer))
        if isinstance(operation, moment) and claims and not reached.is_set():
            reached.set()
            await free.wait()
        return answer

    monkeypatch.setattr(harness.store, "perform", paused)
    async with harness.worker(worker_id=WORKER, types=[render], poll_interval=NEVER):
        await in_time(reached.wait())
        assert claims
        assert not any(claims)
        (settled,) = await perform(Settle((completed(holder),)))
        assert settled.written
        free.set()

        assert await in_time(harness.client.wait(waiting)) == 2
