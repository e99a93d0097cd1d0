"""If a part of the worker fails or cannot be started, the worker stops with the error."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from holdfast import Store
from holdfast.engine.operations import Operation, Settle
from holdfast.engine.wakeups import Listener
from holdfast.stores.memory import MemoryStore
from holdfast.testing.clock import ManualClock
from tests.worker.faulty_store import FaultyStore
from tests.worker.harness import WorkerHarness, in_time


@pytest.fixture
def store(clock: ManualClock) -> Store:
    return MemoryStore(clock=clock)


class Forgetful(FaultyStore):
    """A third-party store with a bug: it does not return the results of settlements."""

    async def perform(self, operation: Operation[Any], /) -> Any:
        answer = await super().perform(operation)
        return [] if operation.verb == Settle.verb else answer


async def test_a_worker_that_cannot_settle_any_more_stops_with_the_error(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("holdfast.worker.shutdown.SHUTDOWN_TIMEOUT", 0.1)
    harness = WorkerHarness(Forgetful(store), clock)

    @harness.jobs.job
    async def hello() -> str:
        return "hello"

    await harness.start(hello.bind())
    with pytest.raises(ExceptionGroup):
        await in_time(harness.worker().run())

    assert "holdfast-settler" in caplog.text
    assert harness.recorder.find("worker_stopped")


@pytest.mark.parametrize("part", ["renewer", "watchdog"])
async def test_a_worker_that_cannot_start_leaves_no_threads(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    @harness.jobs.job
    async def hello() -> str:
        return "hello"

    start, subscribe = threading.Thread.start, harness.store.wakeups.subscribe
    begun: list[threading.Thread] = []
    listening: list[Listener] = []

    def start_most(thread: threading.Thread) -> None:
        if part in thread.name:
            raise RuntimeError("can't start new thread")
        start(thread)
        if "renewer" in thread.name:
            begun.append(thread)

    def count(listener: Listener) -> Callable[[], None]:
        leave = subscribe(listener)
        listening.append(listener)

        def leave_and_count() -> None:
            leave()
            listening.remove(listener)

        return leave_and_count

    monkeypatch.setattr(threading.Thread, "start", start_most)
    monkeypatch.setattr(harness.store.wakeups, "subscribe", count)

    with pytest.raises(RuntimeError, match="new thread"):
        await in_time(harness.worker().run())

    assert not listening
    for thread in begun:
        thread.join(60)
        assert not thread.is_alive()
