"""The waits of a plain handler: `sleep`, `receive` and `cursor` of SyncAttempt."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, overload

from holdfast.codec.codec import Codec, codec_for
from holdfast.core.clock import SECOND, Micros, to_micros
from holdfast.core.failure import describe
from holdfast.core.retry import Seconds
from holdfast.core.steps import WAIT_IN_PLACE, Checkpoint, StepRow
from holdfast.errors import MessageTimeout
from holdfast.worker.steps.attempt_steps import POLL, position_of, read_position
from holdfast.worker.steps.calls import check_kind, wait_time
from holdfast.worker.steps.log import Key, StepLog
from holdfast.worker.steps.results import NOT_GIVEN, decoded, encoded
from holdfast.worker.steps.suspended import Suspended

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
        """Wait in place. Raises ClaimLost if the attempt is aborted."""
        ...


class SyncWaits:
    """`sleep`, `sleep_until`, `receive` and `cursor` of a plain handler."""

    if TYPE_CHECKING:
        job: Job
        _steps: BlockingSteps

    def sleep(self, name: str, seconds: Seconds, /, *, each: Any = NOT_GIVEN) -> None:
        """Sleep. More than 5 s end the attempt by `Suspended`: no slot, no lease and no attempt is used meanwhile."""
        delay = wait_time(seconds, "a sleep")
        self._sleep(self._steps.log.use("sleep", name, each), delay=delay)

    def sleep_until(self, name: str, moment: datetime, /, *, each: Any = NOT_GIVEN) -> None:
        """Sleep until this time, as `sleep` does. The datetime must be aware."""
        at = to_micros(moment)
        self._sleep(self._steps.log.use("sleep", name, each), at=at)

    @overload
    def receive(self, name: str, type: type[R], /, *, timeout: Seconds | None = None) -> R: ...

    @overload
    def receive(self, name: str, type: UnionType, /, *, timeout: Seconds | None = None) -> Any: ...

    def receive(self, name: str, type: Any, /, *, timeout: Seconds | None = None) -> Any:
        """The message of this name, which `client.send(chain, name, value)` sends. A wait of more than 5 s ends the
        attempt, as a long `sleep` does. MessageTimeout after `timeout`, which counts from the first wait.
        """
        codec = codec_for(type)
        delay = None if timeout is None else wait_time(timeout, "the timeout of a receive")
        return self._receive(self._steps.log.use("receive", name), codec, delay)

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
        plain JSON values. The position is saved after `every` items. An item counts when the next one is asked for.
        """
        if every < 1:
            raise ValueError("every= must be at least 1")
        codec = codec_for(Any if returns is NOT_GIVEN else returns) if callable(rows) else None
        return self._cursor(self._steps.log.use("cursor", name), rows, every, codec)

    # Implementation

    def _sleep(self, key: Key, *, delay: Micros = 0, at: Micros | None = None) -> None:
        steps = self._steps
        with steps.log.running():
            row = self._open_row(key, "sleep")
            if row is not None and row.finished_at is not None:
                return
            now = steps.now()
            end = (now + delay if at is None else at) if row is None else row.wake_at or now
            begun = now if row is None else row.started_at
            self._wait(key, "sleep", end)
            steps.save(steps.log.checkpoint(key, "sleep", took=steps.now() - begun))

    def _receive(self, key: Key, codec: Codec, timeout: Micros | None) -> Any:
        with self._steps.log.running():
            row = self._open_row(key, "receive")
            if row is None or not row.final:
                row = self._received(key, row, timeout)
        if row.error is not None:
            raise MessageTimeout(key.name)
        return decoded(self.job.id, row, codec)

    def _received(self, key: Key, row: StepRow | None, timeout: Micros | None) -> StepRow:
        """Wait for the message, and store it, or that it did not arrive in time."""
        steps, now = self._steps, self._steps.now()
        end = (None if timeout is None else now + timeout) if row is None else row.wake_at
        begun = now if row is None else row.started_at
        value = steps.message(key.name)
        if value is None:
            value = self._wait(key, "receive", end)
        error = None if value is not None else describe(MessageTimeout(key.name))
        checkpoint = steps.log.checkpoint(key, "receive", result=value, error=error, took=steps.now() - begun)
        return steps.save(checkpoint).row(steps.now())

    def _open_row(self, key: Key, kind: Literal["sleep", "receive"]) -> StepRow | None:
        self._steps.load()
        row = self._steps.log.row(key)
        if row is not None:
            check_kind(row, key, kind)
        return row

    def _wait(self, key: Key, kind: Literal["sleep", "receive"], end: Micros | None) -> bytes | None:
        """Wait until `end`, or for a message: in place if that is soon, otherwise in a later attempt."""
        if end is not None and end - self._steps.now() <= WAIT_IN_PLACE * SECOND:
            return self._wait_in_place(key, kind, end)
        with self._steps.log.waiting(key, kind, end):
            return self._wait_or_suspend(key, kind, end)

    def _wait_or_suspend(self, key: Key, kind: Literal["sleep", "receive"], end: Micros | None) -> bytes | None:
        """Raise Suspended when no other thread runs a step. Meanwhile the wait may end in this attempt."""
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

    def _wait_in_place(self, key: Key, kind: Literal["sleep", "receive"], end: Micros) -> bytes | None:
        steps, ends = self._steps, time.monotonic() + (end - self._steps.now()) / SECOND
        while True:
            if kind == "receive" and (value := steps.message(key.name)) is not None:
                return value
            left = min(ends - time.monotonic(), (end - steps.now()) / SECOND)
            if left <= 0:
                return None
            steps.pause(min(left, POLL))

    def _cursor(self, key: Key, rows: Any, every: int, codec: Codec | None) -> Iterator[Any]:
        steps, log = self._steps, self._steps.log
        steps.load()
        row = log.row(key)
        if row is not None:
            check_kind(row, key, "cursor")
            if row.finished_at is not None:
                return
        count, last = read_position(row)
        stored, skipped = count, count if codec is None else 0
        for item in rows if codec is None else rows(None if count == 0 else codec.decode(last)):
            if skipped:
                skipped -= 1
                continue
            yield item
            count += 1
            if codec is not None:
                last = encoded(key.name, codec, item)
            if count - stored >= every:
                steps.save(position_of(log, key, (count, last), done=False))
                stored = count
                log.positions.pop(key, None)
            else:
                log.positions[key] = (count, last)
        log.positions.pop(key, None)
        steps.save(position_of(log, key, (count, last), done=True))
