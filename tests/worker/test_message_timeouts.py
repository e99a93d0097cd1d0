"""A message is sent at the moment at which its receive times out: the first of both counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest

from holdfast import Attempt, MessageTimeout, Store, SyncAttempt
from holdfast.engine.operations import Operation, SaveSteps, SendMessage
from holdfast.registry.jobs import Jobs
from holdfast.testing.clock import ManualClock
from tests.worker.faulty_store import FaultyStore
from tests.worker.harness import WorkerHarness
from tests.worker.process_jobs import jobs as process_jobs
from tests.worker.process_jobs import receive_briefly

When = Literal["before", "after"]


class SendingStore(FaultyStore):
    """Sends a message directly before or after the first timeout is stored."""

    def __init__(self, inner: Store, when: When) -> None:
        super().__init__(inner)
        self.chain_id = ""
        self.sent: list[bool] = []
        self._when = when

    async def perform(self, operation: Operation[Any], /) -> Any:
        is_timeout = isinstance(operation, SaveSteps) and any(each.is_timeout for each in operation.checkpoints)
        if is_timeout and self._when == "before":
            await self._send()
        answer = await super().perform(operation)
        if is_timeout and self._when == "after":
            await self._send()
        return answer

    async def _send(self) -> None:
        if not self.sent:
            self.sent.append(await self.inner.perform(SendMessage(self.chain_id, "label", b'"A"')))


def _async_type(jobs: Jobs) -> Any:
    @jobs.job
    async def work(attempt: Attempt) -> str:
        try:
            return await attempt.receive("label", str, timeout=0.01)
        except MessageTimeout:
            return "timeout"

    return work


def _sync_type(jobs: Jobs) -> Any:
    @jobs.job
    def work(attempt: SyncAttempt) -> str:
        try:
            return attempt.receive("label", str, timeout=0.01)
        except MessageTimeout:
            return "timeout"

    return work


def _process_type(jobs: Jobs) -> Any:
    jobs.include(process_jobs)
    return receive_briefly


@pytest.mark.parametrize("make", [_async_type, _sync_type, _process_type])
@pytest.mark.parametrize(("when", "output"), [("before", "A"), ("after", "timeout")])
async def test_the_first_of_a_message_and_a_timeout_counts(
    store: Store, clock: ManualClock, make: Callable[[Jobs], Any], when: When, output: str
) -> None:
    sending = SendingStore(store, when)
    harness = WorkerHarness(sending, clock)
    type = make(harness.jobs)
    chain = await harness.start(type.bind())
    sending.chain_id = chain.id

    async with harness.worker():
        await harness.recorder.receive("started")
        clock.advance(1)
        await harness.recorder.receive("completed")

    assert sending.sent == [True]
    assert (await harness.chain(chain)).output == output
    (label,) = await harness.client.steps(chain)
    assert (label.result, label.error is None) == (("A", True) if output == "A" else (None, False))
