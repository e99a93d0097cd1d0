"""After a suspension longer than the lease, an attempt is aborted with the reason from the store."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from holdfast.core.clock import duration
from holdfast.core.ids import new_token
from holdfast.core.lifecycle import Returned
from holdfast.core.record import Record
from holdfast.core.retry import Retry
from holdfast.core.settle import settle
from holdfast.engine.operations import ClaimJobs, Reap, Settle, TypeTerms
from holdfast.worker import lease_guard as lease_guard_module
from holdfast.worker.abort_signal import AbortReason
from holdfast.worker.held_claims import HeldClaim, HeldClaims, lease_clock
from holdfast.worker.lease_guard import LeaseGuard
from holdfast.worker.run_options import RunOptions
from tests.conformance.client.harness import TIMEOUT, ClientHarness, in_time, value
from tests.worker.faulty_store import FaultyStore

LEASE = 300.0


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """On a busy machine the store may take longer to answer than a worker waits."""
    _answer_within(TIMEOUT, monkeypatch)


def _answer_within(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer_timeout(shortest: float) -> float:
        return seconds

    monkeypatch.setattr(lease_guard_module, "answer_timeout", answer_timeout)


async def _claim(harness: ClientHarness, worker: str) -> Record:
    terms = TypeTerms("value", duration(LEASE), 5)
    (record,) = await harness.store.perform(ClaimJobs((terms,), 1, worker, new_token()))
    return record


def _held(harness: ClientHarness, record: Record, *, renewed: float) -> HeldClaim:
    """A claim that was last renewed this number of seconds ago."""
    terms = RunOptions(harness.jobs["value"], Retry(), LEASE, LEASE / 3, None)
    return HeldClaim(record, terms, lease_clock() - renewed, lease_clock() - renewed)


@asynccontextmanager
async def _guarding(store: Any, *holdings: HeldClaim) -> AsyncGenerator[None]:
    held = HeldClaims()
    held.add(holdings)
    fencing = asyncio.create_task(LeaseGuard(store, held, shortest=2.0).run())
    try:
        yield
    finally:
        fencing.cancel()


@pytest.mark.parametrize(
    "reason", ["taken_by_another_worker", "already_completed", "cancelled", "not_found", "returned to pending", "error"]
)
async def test_the_store_gives_the_reason(harness: ClientHarness, reason: str) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))
    holding = _held(harness, await _claim(harness, "frozen"), renewed=3 * LEASE)
    if reason in ("taken_by_another_worker", "already_completed", "returned to pending"):
        harness.clock.advance(LEASE + 1)
        assert await harness.store.perform(Reap(("value",), (), 10))
        if reason == "taken_by_another_worker":
            await _claim(harness, "another")
        elif reason == "already_completed":
            taken = await _claim(harness, "another")
            (answer,) = await harness.store.perform(Settle((settle(taken, Returned(b"1"), Retry()),)))
            assert answer.written
    elif reason in ("cancelled", "not_found"):
        await harness.client.cancel(chain.id)
        if reason == "not_found":
            await harness.client.delete([chain.id])

    async with _guarding(harness.store, holding):
        found = await in_time(holding.signal.wait())

    assert found == ("taken_by_another_worker" if reason == "returned to pending" else reason)


async def test_no_handler_runs_while_the_store_is_asked(harness: ClientHarness) -> None:
    """The event loop is blocked until the attempt is aborted."""
    chain = await harness.client.start(harness.jobs.job(value).bind(1))
    holding = _held(harness, await _claim(harness, "frozen"), renewed=3 * LEASE)
    await harness.client.cancel(chain.id)
    faulty = FaultyStore(harness.store)
    asked = threading.Event()
    steps: list[AbortReason | None] = []

    def answer_later(operation: object, answer: object) -> None:
        asked.set()
        released.wait(60)

    released = threading.Event()
    faulty.watch = answer_later

    async def handler() -> None:
        while not holding.signal.aborted:
            if asked.is_set():
                steps.append(holding.signal.reason)
            await asyncio.sleep(0)

    def release() -> None:
        asked.wait(60)
        released.set()

    threading.Thread(target=release, daemon=True).start()
    async with _guarding(faulty, holding):
        await in_time(handler())

    assert holding.signal.reason == "cancelled"
    assert steps == []


async def test_a_store_that_does_not_answer_promptly_is_not_waited_for(
    harness: ClientHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await harness.client.start(harness.jobs.job(value).bind(1))
    holding = _held(harness, await _claim(harness, "frozen"), renewed=3 * LEASE)
    _answer_within(0.05, monkeypatch)
    faulty = FaultyStore(harness.store)
    answered = threading.Event()
    faulty.watch = lambda operation, answer: answered.set()
    faulty.hold.clear()

    try:
        async with _guarding(faulty, holding):
            assert await in_time(holding.signal.wait()) == "error"
    finally:
        faulty.hold.set()
        assert await asyncio.to_thread(answered.wait, 60)


async def test_the_store_is_not_asked_before_the_lease_has_expired(harness: ClientHarness) -> None:
    """Renewals fail and the lease guard is in time: no other worker can hold the job yet."""
    await harness.client.start(harness.jobs.job(value).bind(1))
    holding = _held(harness, await _claim(harness, "cut off"), renewed=0.95 * LEASE)
    faulty = FaultyStore(harness.store)

    async with _guarding(faulty, holding):
        assert await in_time(holding.signal.wait()) == "error"

    assert faulty.performed == []


async def test_an_error_of_the_store_leaves_the_reason_error(harness: ClientHarness) -> None:
    await harness.client.start(harness.jobs.job(value).bind(1))
    holding = _held(harness, await _claim(harness, "frozen"), renewed=3 * LEASE)
    faulty = FaultyStore(harness.store)
    fault = faulty.fail("get_jobs")

    async with _guarding(faulty, holding):
        assert await in_time(holding.signal.wait()) == "error"

    assert fault.met == 1
