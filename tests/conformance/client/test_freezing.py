"""After a freeze longer than the lease, an attempt is aborted with the reason that the store gives."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from holdfast.core.clock import duration
from holdfast.core.ids import new_token
from holdfast.core.lifecycle import Returned, settle
from holdfast.core.record import Record
from holdfast.core.retry import Retry
from holdfast.engine.operations import ClaimJobs, Reap, Settle, TypeTerms
from holdfast.worker import lease_guard as fencer_module
from holdfast.worker.abort_signal import AbortReason
from holdfast.worker.held_claims import Holding, Holdings, ticks
from holdfast.worker.lease_guard import Fencer
from holdfast.worker.run_options import RunTerms
from tests.conformance.client.scene import Scene, soon, value
from tests.worker.faulty import FaultyStore

LEASE = 30.0


async def _claim(scene: Scene, worker: str) -> Record:
    terms = TypeTerms("value", duration(LEASE), 5)
    (record,) = await scene.store.perform(ClaimJobs((terms,), 1, worker, new_token()))
    return record


def _held(scene: Scene, record: Record, *, renewed: float) -> Holding:
    """A claim that was last renewed so many seconds ago."""
    terms = RunTerms(scene.jobs["value"], Retry(), LEASE, LEASE / 3, None)
    return Holding(record, terms, ticks() - renewed, ticks() - renewed)


@asynccontextmanager
async def _fencing(store: Any, *holdings: Holding) -> AsyncGenerator[None]:
    held = Holdings()
    held.add(holdings)
    fencing = asyncio.create_task(Fencer(store, held, shortest=2.0).run())
    try:
        yield
    finally:
        fencing.cancel()


@pytest.mark.parametrize(
    "reason", ["taken_by_another_worker", "already_completed", "cancelled", "not_found", "returned to pending", "error"]
)
async def test_the_store_gives_the_reason(scene: Scene, reason: str) -> None:
    chain = await scene.client.start(scene.jobs.job(value).bind(1))
    holding = _held(scene, await _claim(scene, "frozen"), renewed=3 * LEASE)
    if reason in ("taken_by_another_worker", "already_completed", "returned to pending"):
        scene.clock.advance(LEASE + 1)
        assert await scene.store.perform(Reap(("value",), (), 10))
        if reason == "taken_by_another_worker":
            await _claim(scene, "another")
        elif reason == "already_completed":
            taken = await _claim(scene, "another")
            (answer,) = await scene.store.perform(Settle((settle(taken, Returned(b"1"), Retry()),)))
            assert answer.written
    elif reason in ("cancelled", "not_found"):
        await scene.client.cancel(chain.id)
        if reason == "not_found":
            await scene.client.delete([chain.id])

    async with _fencing(scene.store, holding):
        found = await soon(holding.signal.wait())

    assert found == ("taken_by_another_worker" if reason == "returned to pending" else reason)


async def test_a_handler_does_not_run_on_while_the_store_is_asked(scene: Scene) -> None:
    """The event loop is blocked until the attempt is aborted."""
    chain = await scene.client.start(scene.jobs.job(value).bind(1))
    holding = _held(scene, await _claim(scene, "frozen"), renewed=3 * LEASE)
    await scene.client.cancel(chain.id)
    faulty = FaultyStore(scene.store)
    asked = threading.Event()
    steps: list[AbortReason | None] = []

    def answer_later(operation: object, answer: object) -> None:
        asked.set()
        released.wait(5)

    released = threading.Event()
    faulty.watch = answer_later

    async def handler() -> None:
        while not holding.signal.aborted:
            if asked.is_set():
                steps.append(holding.signal.reason)
            await asyncio.sleep(0)

    def release() -> None:
        asked.wait(5)
        released.set()

    threading.Thread(target=release, daemon=True).start()
    async with _fencing(faulty, holding):
        await soon(handler())

    assert holding.signal.reason == "cancelled"
    assert steps == []


async def test_a_store_that_does_not_answer_promptly_is_not_waited_for(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.client.start(scene.jobs.job(value).bind(1))
    holding = _held(scene, await _claim(scene, "frozen"), renewed=3 * LEASE)
    monkeypatch.setattr(fencer_module, "PROMPT", 0.05)
    faulty = FaultyStore(scene.store)
    answered = threading.Event()
    faulty.watch = lambda operation, answer: answered.set()
    faulty.hold.clear()

    try:
        async with _fencing(faulty, holding):
            assert await soon(holding.signal.wait()) == "error"
    finally:
        faulty.hold.set()
        assert await asyncio.to_thread(answered.wait, 10)


async def test_the_store_is_not_asked_before_the_lease_has_run_out(scene: Scene) -> None:
    """Renewals fail and the lease_guard is in time: no other worker can have the job yet."""
    await scene.client.start(scene.jobs.job(value).bind(1))
    holding = _held(scene, await _claim(scene, "cut off"), renewed=0.95 * LEASE)
    faulty = FaultyStore(scene.store)

    async with _fencing(faulty, holding):
        assert await soon(holding.signal.wait()) == "error"

    assert faulty.performed == []


async def test_an_error_of_the_store_leaves_the_reason_error(scene: Scene) -> None:
    await scene.client.start(scene.jobs.job(value).bind(1))
    holding = _held(scene, await _claim(scene, "frozen"), renewed=3 * LEASE)
    faulty = FaultyStore(scene.store)
    fault = faulty.fail("get_jobs")

    async with _fencing(faulty, holding):
        assert await soon(holding.signal.wait()) == "error"

    assert fault.met == 1
