"""The waits of a plain handler: `sleep`, `receive` and `cursor` of SyncAttempt."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from types import UnionType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from holdfast.codec.codec import Codec, codec_for
from holdfast.core.clock import SECOND, Micros, to_micros
from holdfast.core.retry import Seconds
from holdfast.core.steps import WAIT_IN_PLACE, Checkpoint
from holdfast.engine.generators import drive
from holdfast.worker.steps.attempt_steps import POLL, position_of
from holdfast.worker.steps.calls import wait_time
from holdfast.worker.steps.log import Key, StepLog
from holdfast.worker.steps.results import NOT_GIVEN
from holdfast.worker.steps.step_logic import itself
from holdfast.worker.steps.suspended import Suspended
from holdfast.worker.steps.wait_logic import CursorPosition, SharedWaits, WaitKind

if TYPE_CHECKING:
    from holdfast.core.job import Job

R = TypeVar("R")
T = TypeVar("T")


class BlockingSteps(Protocol):
    """What the steps of a plain handler need from the worker."""

    @property
    def log(self) -> StepLog:
        """The steps of the attempt."""
        ...

    def now(self) -> Micros:
        """The time of the store."""
        ...

    def load(self) -> None:
        """Read the stored steps, once."""
        ...

    def save(self, checkpoint: Checkpoint) -> Checkpoint:
        """Store a step, and return what is stored: see `AttemptSteps.save`. Raises ClaimLost."""
        ...

    def message(self, name: str) -> bytes | None:
        """The message of the chain with this name."""
        ...

    def pause(self, seconds: float) -> None:
        """Wait in the running attempt. Raises ClaimLost if the attempt is aborted."""
        ...


class SyncWaits(SharedWaits):
    """`sleep`, `sleep_until`, `receive` and `cursor` of a plain handler."""

    if TYPE_CHECKING:
        job: Job
        _steps: BlockingSteps

    def sleep(self, name: str, seconds: Seconds, /, *, each: Any = NOT_GIVEN) -> None:
        """Sleep. A sleep of more than 5 s raises `Suspended`: meanwhile it uses no slot, no lease and no attempt."""
        delay = wait_time(seconds, "a sleep")
        drive(self._sleep(self._steps.log.use("sleep", name, each), delay=delay), itself)

    def sleep_until(self, name: str, moment: datetime, /, *, each: Any = NOT_GIVEN) -> None:
        """Sleep until this time, as `sleep` does. The datetime must be aware."""
        at = to_micros(moment)
        drive(self._sleep(self._steps.log.use("sleep", name, each), at=at), itself)

    @overload
    def receive(self, name: str, type: type[R], /, *, timeout: Seconds | None = None) -> R: ...

    @overload
    def receive(self, name: str, type: UnionType, /, *, timeout: Seconds | None = None) -> Any: ...

    def receive(self, name: str, type: Any, /, *, timeout: Seconds | None = None) -> Any:
        """Return the message of this name, which `client.send(chain, name, value)` sends.

        A wait of more than 5 s ends the attempt, as a long `sleep` does. Raises MessageTimeout after `timeout`. The
        timeout is measured from the first wait.
        """
        codec = codec_for(type)
        delay = None if timeout is None else wait_time(timeout, "the timeout of a receive")
        return drive(self._receive(self._steps.log.use("receive", name), codec, delay), itself)

    @overload
    def cursor(
        self, name: str, rows: Callable[[T | None], Iterable[T]], /, *, every: int = 100, returns: Any = ...
    ) -> Iterator[T]: ...

    @overload
    def cursor(self, name: str, rows: Iterable[T], /, *, every: int = 100, returns: Any = ...) -> Iterator[T]: ...

    def cursor(self, name: str, rows: Any, /, *, every: int = 100, returns: Any = NOT_GIVEN) -> Iterator[Any]:
        """Iterate over rows, and continue after the last saved position in a later attempt.

        `rows` is an iterable with a stable order, whose finished items are skipped, or a function of the last saved
        item (None at first) that returns the items after it. `returns=` is then the type of the items, if they are not
        plain JSON values. The position is saved after `every` items. An item counts when the next one is requested.
        """
        if every < 1:
            raise ValueError("every= must be at least 1")
        codec = codec_for(Any if returns is NOT_GIVEN else returns) if callable(rows) else None
        return self._cursor(self._steps.log.use("cursor", name), rows, every, codec)

    # Implementation

    def _wait(self, key: Key, kind: WaitKind, end: Micros | None) -> bytes | None:
        if end is not None and end - self._steps.now() <= WAIT_IN_PLACE * SECOND:
            return self._wait_in_place(key, kind, end)
        with self._steps.log.waiting(key, kind, end):
            return self._wait_or_suspend(key, kind, end)

    def _wait_or_suspend(self, key: Key, kind: WaitKind, end: Micros | None) -> bytes | None:
        """Wait in this attempt while other threads run steps. Raises Suspended when no other thread runs a step."""
        steps, log = self._steps, self._steps.log
        while not log.suspend():
            with (changed := log.changed):
                changed.wait(POLL)
            if kind == "receive" and (value := steps.message(key.name)) is not None:
                return value
            if end is not None and steps.now() >= end:
                return None
        positions, log.positions = log.positions, {}
        for cursor, position in positions.items():
            steps.save(position_of(log, cursor, position, done=False))
        raise Suspended

    def _wait_in_place(self, key: Key, kind: WaitKind, end: Micros) -> bytes | None:
        steps, ends = self._steps, time.monotonic() + (end - self._steps.now()) / SECOND
        while True:
            if kind == "receive" and (value := steps.message(key.name)) is not None:
                return value
            left = min(ends - time.monotonic(), (end - steps.now()) / SECOND)
            if left <= 0:
                return None
            steps.pause(min(left, POLL))

    def _cursor(self, key: Key, rows: Any, every: int, codec: Codec | None) -> Iterator[Any]:
        self._steps.load()
        position = CursorPosition(self._steps.log, key, every, codec)
        if position.ended:
            return
        for item in position.rest_of(rows):
            if position.skips():
                continue
            yield item
            if (checkpoint := position.finish(item)) is not None:
                self._steps.save(checkpoint)
                position.saved()
        self._steps.save(position.end())
