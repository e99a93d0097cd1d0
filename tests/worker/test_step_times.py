"""The time of the store, as the steps of an attempt calculate it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from holdfast import Attempt, Client, Event, Jobs, Worker
from holdfast.engine.operations import ClaimJobs, Operation
from holdfast.stores.memory import MemoryStore
from holdfast.worker import claimer, held_claims, runner
from holdfast.worker.steps import attempt_steps

R = TypeVar("R")


async def test_a_sleep_lasts_from_its_call_although_the_claim_was_answered_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, late, jobs, store, suspended = held_claims.lease_clock, [0.0], Jobs(), MemoryStore(), asyncio.Event()
    for module in (claimer, runner, attempt_steps):
        monkeypatch.setattr(module, "lease_clock", lambda: clock() + late[0])
    perform: Any = store.perform

    async def answered_late(operation: Operation[R], /) -> R:
        answer: R = await perform(operation)
        if isinstance(operation, ClaimJobs) and answer:
            late[0] += 10
        return answer

    monkeypatch.setattr(store, "perform", answered_late)

    @jobs.job
    async def work(attempt: Attempt) -> None:
        await attempt.sleep("nap", 60)

    def observe(event: Event) -> None:
        if event.kind == "suspended":
            suspended.set()

    async with Client(store, jobs) as client:
        async with Worker(client, lease=600, observers=[observe]):
            chain = await client.start(work.bind())
            await suspended.wait()
        job = await client.get_job(chain.id)

    assert job is not None
    assert job.scheduled_at is not None
    assert job.scheduled_at - job.created_at >= timedelta(seconds=70)
