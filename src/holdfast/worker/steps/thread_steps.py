"""The steps of a plain handler in a thread of the worker: its reads and writes happen on the event loop, in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from holdfast.core.clock import Micros
from holdfast.core.steps import Checkpoint
from holdfast.errors import ClaimLost
from holdfast.worker.abort_signal import Signal
from holdfast.worker.steps.attempt_steps import AttemptSteps
from holdfast.worker.steps.log import StepLog
from holdfast.worker.threads import wait_on_loop

R = TypeVar("R")


class ThreadSteps:
    """The steps of an attempt, for a thread."""

    def __init__(self, steps: AttemptSteps, signal: Signal, job_id: str, loop: asyncio.AbstractEventLoop) -> None:
        self._steps = steps
        self._signal = signal
        self._job_id = job_id
        self._loop = loop

    @property
    def log(self) -> StepLog:
        return self._steps.log

    def now(self) -> Micros:
        return self._steps.now()

    def load(self) -> None:
        if not self.log.loaded:
            self._on_loop(self._steps.load())

    def save(self, checkpoint: Checkpoint) -> Checkpoint:
        return self._on_loop(self._steps.save(checkpoint))

    def message(self, name: str) -> bytes | None:
        return self._on_loop(self._steps.message(name))

    def pause(self, seconds: float) -> None:
        reason = self._signal.wait_sync(seconds)
        if reason is not None:
            raise ClaimLost(self._job_id, reason)

    def _on_loop(self, coroutine: Coroutine[Any, Any, R]) -> R:
        result: R = wait_on_loop.get()(coroutine, self._loop)
        return result
