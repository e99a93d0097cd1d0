"""Which steps share a write."""

from __future__ import annotations

import asyncio
from typing import Any

from holdfast import Jobs, Retry
from holdfast.core.record import Claim
from holdfast.engine.observers import Observers
from holdfast.engine.operations import GetSteps, Settled
from holdfast.stores.memory import MemoryStore
from holdfast.worker.abort_signal import Signal
from holdfast.worker.settler import ENOUGH, Settler
from holdfast.worker.steps.step_store import Batches

SIGNAL = Signal()


class HeldStore(MemoryStore):
    """A store that answers when the test lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: asyncio.Queue[tuple[tuple[str, ...], asyncio.Future[None]]] = asyncio.Queue()

    async def perform(self, operation: Any, /) -> Any:
        may_answer = asyncio.get_running_loop().create_future()
        self.asked.put_nowait((operation.job_ids, may_answer))
        await may_answer
        return [[] for _ in operation.job_ids]


async def test_the_steps_of_the_next_handlers_join_the_next_write() -> None:
    store = HeldStore()
    batches: Batches[str, Any] = Batches(store, Retry(), GetSteps)
    submitted: asyncio.Queue[str] = asyncio.Queue()
    tasks: set[asyncio.Task[None]] = set()

    async def handle(name: str, *following: str) -> None:
        """A handler with one step. When it ends, the next one begins in its slot."""
        answer = batches.submit(name, SIGNAL)
        submitted.put_nowait(name)
        await batches.answer(answer, Claim(name, "token"), SIGNAL)
        if following:
            begin(*following)

    def begin(*names: str) -> None:
        tasks.add(asyncio.get_running_loop().create_task(handle(*names)))

    begin("a", "next after a")
    asked, may_answer = await store.asked.get()
    assert asked == ("a",)
    begin("b")
    assert [await submitted.get() for _ in "ab"] == ["a", "b"]
    may_answer.set_result(None)

    asked, may_answer = await store.asked.get()
    assert asked == ("b", "next after a")
    may_answer.set_result(None)
    await asyncio.gather(*tasks)


class RecordingStore(MemoryStore):
    """A store that records the verbs, and answers in the next iteration of the event loop."""

    def __init__(self) -> None:
        super().__init__()
        self.performed: list[str] = []

    async def perform(self, operation: Any, /) -> Any:
        self.performed.append(operation.verb)
        await asyncio.sleep(0)
        return [[]] if isinstance(operation, GetSteps) else [Settled() for _ in operation.settlements]


async def test_the_steps_of_the_next_handlers_are_written_before_settlements_that_may_wait() -> None:
    store = RecordingStore()
    batches: Batches[str, Any] = Batches(store, Retry(), GetSteps)
    settler = Settler(store, Observers([], Jobs()), Retry(), "worker", written=lambda: None)
    writing = asyncio.create_task(settler.run())
    anything: Any = object()

    def ignore(*answer: object) -> None: ...

    async def handle(name: str, *following: str) -> None:
        """A handler with one step. When it ends, enough settlements wait, and the next one begins in its slot."""
        await batches.answer(batches.submit(name, SIGNAL), Claim(name, "token"), SIGNAL)
        if following:
            for _ in range(ENOUGH):
                settler.submit(anything, anything, ignore, later=True)
            await asyncio.create_task(handle(*following))

    await handle("a", "next after a")
    await settler.flush()
    writing.cancel()

    assert store.performed == ["get_steps", "get_steps", "settle"]
