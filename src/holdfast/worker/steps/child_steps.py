"""Steps of a handler in a child process. The functions run in the child; the worker reads and writes the store.

The child sends a `StepRequest` over its pipe and waits for the `StepReply`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from queue import SimpleQueue
from typing import Any, Literal, NamedTuple, NoReturn

from holdfast.core.clock import Micros, duration
from holdfast.core.details import epoch_of
from holdfast.core.job import Decoder, Job
from holdfast.core.record import Claim, Record
from holdfast.core.steps import Checkpoint, Wait
from holdfast.worker.abort_signal import Signal
from holdfast.worker.completion_rules import progress_of
from holdfast.worker.steps.log import StepLog
from holdfast.worker.steps.suspended import Suspended
from holdfast.worker.steps.sync_steps import SyncSteps


class AttemptInChild(NamedTuple):
    """The data of the attempt that the child needs."""

    record: Record
    now: Micros
    """The time of the store."""
    blockers: tuple[Any, ...]


class StepRequest(NamedTuple):
    """A request of a step in the child to the worker."""

    number: int
    kind: Literal["load", "save", "message", "progress"]
    subject: Any = None


class StepReply(NamedTuple):
    """The answer to a request, or the error that the worker got."""

    number: int
    value: Any = None
    error: BaseException | None = None


class HandlerSuspended(NamedTuple):
    """The handler ended because it sleeps or waits for a message."""

    waits: tuple[Wait, ...]


class ChildSteps:
    """The steps of an attempt, in the child."""

    def __init__(self, about: AttemptInChild, send: Callable[[StepRequest], None]) -> None:
        self.log = StepLog(about.record)
        self.replies: SimpleQueue[StepReply] = SimpleQueue()
        self._send = send
        self._offset = about.now - duration(time.monotonic())
        self._numbers = count(1)
        self._asking = threading.Lock()

    def now(self) -> Micros:
        return duration(time.monotonic()) + self._offset

    def load(self) -> None:
        if not self.log.loaded:
            self.log.adopt(self.ask("load"))

    def save(self, checkpoint: Checkpoint) -> Checkpoint:
        stored: Checkpoint = self.ask("save", checkpoint)
        self.log.saved(stored)
        return stored

    def message(self, name: str) -> bytes | None:
        value: bytes | None = self.ask("message", name)
        return value

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def ask(self, kind: Literal["load", "save", "message", "progress"], subject: Any = None) -> Any:
        """Ask the worker. An abort may have interrupted an earlier request: its reply is dropped."""
        with self._asking:
            number = next(self._numbers)
            self._send(StepRequest(number, kind, subject))
            reply = self._reply_to(number)
        if reply.error is not None:
            raise reply.error
        return reply.value

    def _reply_to(self, number: int) -> StepReply:
        while (reply := self.replies.get()).number != number:
            pass
        return reply


class ChildAttempt(SyncSteps):
    """The attempt of a handler in a child process: its job and its steps. It has no transactions."""

    def __init__(self, about: AttemptInChild, decoder: Decoder, send: Callable[[StepRequest], None]) -> None:
        self.job = Job(about.record, decoder)
        self.blockers = about.blockers
        self.signal = Signal()
        """This signal never fires: an abort is raised in the handler as an exception."""
        self.state = None
        self._steps = self.steps = ChildSteps(about, send)

    def begin(self) -> None:
        """Called before the handler is called, when replies of the worker can arrive."""
        if epoch_of(self.job.record.details):  # `step_id` depends on the stored steps
            self.steps.load()

    @property
    def claim(self) -> Claim:
        return self.job.record.claim

    def progress(self, fraction: float, note: str | None = None) -> None:
        """Store the progress of the attempt, from 0 to 1. Raises ClaimLost if the claim is lost."""
        progress_of(self.claim, fraction, note)
        self.steps.ask("progress", (fraction, note))

    def tx_step(self, *args: Any, **options: Any) -> NoReturn:
        """Always raises RuntimeError: the connections belong to the worker's process."""
        raise RuntimeError('executor="process": a handler in a child process has no transactions; run it in a thread')

    prepare = complete = tx_step

    @contextmanager
    def ending(self) -> Generator[None]:
        """Wraps the call of the handler. Raises RuntimeError if the handler caught Suspended."""
        yield
        if self.steps.log.suspended:
            raise RuntimeError("the handler caught Suspended and did not raise it again")

    def suspension(self, error: BaseException) -> HandlerSuspended | None:
        """What the handler waits for, if this error suspends the attempt."""
        if self.steps.log.suspended and isinstance(error, Suspended):
            return HandlerSuspended(self.steps.log.waits)
        return None
