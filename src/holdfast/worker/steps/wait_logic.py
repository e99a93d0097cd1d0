"""The logic of `sleep`, `receive` and `cursor` for async and plain handlers, as generators: see `step_logic`."""

from __future__ import annotations

from typing import Any, Literal

from holdfast.codec.codec import Codec
from holdfast.core.clock import Micros
from holdfast.core.failure import describe
from holdfast.core.steps import Checkpoint, StepRow
from holdfast.errors import MessageTimeout
from holdfast.worker.steps.attempt_steps import position_of, read_position
from holdfast.worker.steps.calls import check_kind
from holdfast.worker.steps.log import Key, StepLog
from holdfast.worker.steps.results import decoded, encoded
from holdfast.worker.steps.step_logic import StepAccess, StepLogic

WaitKind = Literal["sleep", "receive"]


class SharedWaits:
    """The common part of the waits of async and plain handlers."""

    _steps: Any
    """A StepAccess."""

    def _sleep(self, key: Key, *, delay: Micros = 0, at: Micros | None = None) -> StepLogic[None]:
        """Sleep until `at`, or for `delay`. A stored sleep that has not ended keeps its end time."""
        steps: StepAccess = self._steps
        with steps.log.running():
            row = yield from self._open_row(key, "sleep")
            if row is not None and row.finished_at is not None:
                return
            now = steps.now()
            end = (now + delay if at is None else at) if row is None else row.wake_at or now
            begun = now if row is None else row.started_at
            yield self._wait(key, "sleep", end)
            yield steps.save(steps.log.checkpoint(key, "sleep", took=steps.now() - begun))

    def _receive(self, key: Key, codec: Codec, timeout: Micros | None) -> StepLogic[Any]:
        """The value of a message. Raises MessageTimeout if it did not arrive in time."""
        log: StepLog = self._steps.log
        with log.running():
            row = yield from self._open_row(key, "receive")
            if row is None or not row.final:
                row = yield from self._received(key, row, timeout)
        if row.error is not None:
            raise MessageTimeout(key.name)
        return decoded(log.record.id, row, codec)

    def _received(self, key: Key, row: StepRow | None, timeout: Micros | None) -> StepLogic[StepRow]:
        """Wait for the message. Stores the message, or a timeout if it did not arrive in time."""
        steps: StepAccess = self._steps
        now = steps.now()
        end = (None if timeout is None else now + timeout) if row is None else row.wake_at
        begun = now if row is None else row.started_at
        value = yield steps.message(key.name)
        if value is None:
            value = yield self._wait(key, "receive", end)
        error = None if value is not None else describe(MessageTimeout(key.name))
        checkpoint = steps.log.checkpoint(key, "receive", result=value, error=error, took=steps.now() - begun)
        saved: Checkpoint = yield steps.save(checkpoint)
        return saved.row(steps.now())

    def _open_row(self, key: Key, kind: WaitKind) -> StepLogic[StepRow | None]:
        steps: StepAccess = self._steps
        yield steps.load()
        row = steps.log.row(key)
        if row is not None:
            check_kind(row, key, kind)
        return row

    def _wait(self, key: Key, kind: WaitKind, end: Micros | None) -> Any:
        """Wait until `end`, or until a message arrives. The attempt continues if `end` is near; else it is suspended.

        Returns the message; None if `end` was reached first.
        """
        raise NotImplementedError


class CursorPosition:
    """How many items of a cursor are finished, and the last finished item. The stored steps must be loaded."""

    def __init__(self, log: StepLog, key: Key, every: int, codec: Codec | None) -> None:
        row = log.row(key)
        if row is not None:
            check_kind(row, key, "cursor")
        self.ended = row is not None and row.finished_at is not None
        self._log = log
        self._key = key
        self._every = every
        self._codec = codec
        self._count, self._last = read_position(row)
        self._stored = self._count
        self._to_skip = self._count if codec is None else 0

    def rest_of(self, rows: Any) -> Any:
        """The items of an iterable, or those that a function returns for the last saved item."""
        if self._codec is None:
            return rows
        return rows(None if self._count == 0 else self._codec.decode(self._last))

    def skips(self) -> bool:
        """Whether the next item of an iterable was finished in an earlier attempt."""
        if not self._to_skip:
            return False
        self._to_skip -= 1
        return True

    def finish(self, item: Any) -> Checkpoint | None:
        """Count an item. Returns the checkpoint after each `every` items: call `saved` when it is stored."""
        self._count += 1
        if self._codec is not None:
            self._last = encoded(self._key.name, self._codec, item)
        if self._count - self._stored < self._every:
            self._log.positions[self._key] = (self._count, self._last)
            return None
        return position_of(self._log, self._key, (self._count, self._last), done=False)

    def saved(self) -> None:
        """Record that the position is stored."""
        self._stored = self._count
        self._log.positions.pop(self._key, None)

    def end(self) -> Checkpoint:
        """The checkpoint of a cursor without further items."""
        self._log.positions.pop(self._key, None)
        return position_of(self._log, self._key, (self._count, self._last), done=True)
