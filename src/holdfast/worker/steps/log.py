"""The steps of one attempt: which are stored, which names are used, which run, and what the attempt waits for.

This module performs no I/O. Several threads of a plain handler may use a StepLog at the same time.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Final, Literal, NamedTuple

import msgspec

from holdfast.core.clock import Micros
from holdfast.core.details import epoch_of
from holdfast.core.record import Record
from holdfast.core.steps import (
    EACH_LIMIT,
    NAME_LIMIT,
    SIZE_LIMIT,
    STEPS_LIMIT,
    Checkpoint,
    StepKind,
    StepRow,
    Wait,
)
from holdfast.worker.steps.results import NOT_GIVEN
from holdfast.worker.steps.suspended import Suspended

inside_step: ContextVar[Literal["step", "tx_step"] | None] = ContextVar("holdfast_inside_step", default=None)
"""Set while the function of a step runs, also in its thread."""

_FORBIDDEN: Final = {None: (), "step": ("sleep", "receive"), "tx_step": ("sleep", "receive", "step", "cursor")}


_NO_WRAPPER: Final = nullcontext()

StepWrapper = Callable[[str, str], AbstractContextManager[None]]
"""Returns a context manager for a step, given its name and the JSON text of `each`."""


class Key(NamedTuple):
    """A step of a job: its name, and the JSON text of `each`."""

    name: str
    each: str

    def __str__(self) -> str:
        return repr(self.name) + (f", each={self.each}" if self.each else "")


class StepLog:
    """The steps of one attempt."""

    __slots__ = (
        "_changed", "_in_block", "_lock", "_number", "_rows", "_running", "_size", "_used", "_waits", "listeners",
        "loaded", "positions", "record", "suspended", "wrappers",
    )  # fmt: skip

    def __init__(self, record: Record, *, in_block: Callable[[], bool] | None = None) -> None:
        self.record = record
        self.loaded = False
        self.suspended = False
        self._in_block = in_block
        """Returns whether the attempt is inside prepare() or complete()."""
        self._rows: dict[Key, StepRow] = {}
        self._used: set[Key] = set()
        self._waits: dict[Key, Wait] = {}
        self._running = 0
        self._number = 0
        self._size = 0
        self.wrappers: tuple[StepWrapper, ...] = ()
        """Context managers that plugins put around each step."""
        self._lock = threading.Lock()
        self._changed: threading.Condition | None = None
        self.listeners: dict[object, Callable[[], object]] = {}
        """Callbacks for the same events as `changed`. They are called in the thread of the step."""
        self.positions: dict[Key, tuple[int, bytes]] = {}
        """The positions of cursors that are not stored yet: how many items are finished, and the last one."""

    @property
    def changed(self) -> threading.Condition:
        """Notified when a step ends, and when the attempt is suspended. Created when a thread first waits for it."""
        with self._lock:
            if self._changed is None:
                self._changed = threading.Condition(self._lock)
            return self._changed

    @property
    def waits(self) -> tuple[Wait, ...]:
        """What the attempt waits for, in the order of the calls."""
        return tuple(self._waits.values())

    def adopt(self, rows: Iterable[StepRow]) -> None:
        """Take over the stored steps."""
        with self._lock:
            for row in rows:
                self._add(row)
            self.loaded = True

    def use(self, kind: StepKind, name: str, each: Any = NOT_GIVEN) -> Key:
        """Mark a name as used. Raises RuntimeError if it was used before, or if this kind of step is forbidden here."""
        key = key_of(name, each)
        if kind in _FORBIDDEN[inside_step.get()]:
            raise RuntimeError(f"{kind} {key} inside the function of a {inside_step.get()}: call it in the handler")
        if self._in_block is not None and self._in_block():
            raise RuntimeError(f"{kind} {key} inside prepare() or complete(): call it before, or use tx_step")
        with self._lock:
            if self.suspended:
                raise Suspended
            if key in self._used:
                hint = "" if key.each else "; in a loop, each= distinguishes the uses"
                raise RuntimeError(f"the name {key} is used twice in one attempt{hint}")
            self._used.add(key)
        return key

    def wrapped(self, key: Key) -> AbstractContextManager[object]:
        """Enter the context managers of plugins for this step. The result exits them."""
        if not self.wrappers:
            return _NO_WRAPPER
        stack = ExitStack()
        for wrap in self.wrappers:
            stack.enter_context(wrap(key.name, key.each))
        return stack

    def row(self, key: Key) -> StepRow | None:
        """The stored row. Raises RuntimeError if a new row would exceed the maximum number of steps."""
        with self._lock:
            row = self._rows.get(key)
            if row is None and len(self._rows) >= STEPS_LIMIT:
                raise RuntimeError(
                    f"step {key}: the job has {STEPS_LIMIT:,} steps, the limit. Use attempt.cursor for a long loop, or "
                    "continue with another job of the chain"
                )
            return row

    def checkpoint(
        self,
        key: Key,
        kind: StepKind,
        *,
        result: bytes | None = None,
        error: bytes | None = None,
        took: Micros = 0,
        done: bool = True,
    ) -> Checkpoint:
        """The checkpoint of a step. Raises RuntimeError if its result would exceed the size limit."""
        with self._lock:
            before = self._rows.get(key)
            if result is not None and self._size - _size(before) + len(result) > SIZE_LIMIT:
                raise RuntimeError(
                    f"step {key}: the results of the job's steps have more than {SIZE_LIMIT:,} bytes, the limit. Store "
                    "large values elsewhere, and return their ids"
                )
            self._number += 1
            return Checkpoint(
                self.record.claim, key.name, key.each, kind, self._number, self.record.attempt, self._epoch(before),
                result=result, error=error, took=max(took, 0), done=done,
            )  # fmt: skip

    def saved(self, checkpoint: Checkpoint) -> None:
        """Record that a checkpoint is stored."""
        with self._lock:
            self._add(checkpoint.row(0))

    def running(self) -> AbstractContextManager[None]:
        """Wraps a step, a sleep or a receive. Raises Suspended if the attempt is suspended."""
        return _Running(self)

    def begin(self) -> None:
        """Record that a step, a sleep or a receive begins. Raises Suspended if the attempt is suspended."""
        with self._lock:
            if self.suspended:
                raise Suspended
            self._running += 1

    def end(self) -> None:
        """Record that a step, a sleep or a receive ends."""
        with self._lock:
            self._running -= 1
            if self._changed is None and not self.listeners:
                return
        self._notify()

    @contextmanager
    def waiting(self, key: Key, kind: Literal["sleep", "receive"], at: Micros | None) -> Generator[None]:
        """Wraps a long wait of a sleep or receive: the attempt may be suspended during this wait."""
        with self._lock:
            self._number += 1
            epoch = self._epoch(self._rows.get(key))
            self._waits[key] = Wait(key.name, key.each, kind, self._number, self.record.attempt, epoch, at=at)
            self._running -= 1
        try:
            yield
        finally:
            with self._lock:
                self._running += 1
                if not self.suspended:  # the wait has ended in this attempt, or its task was cancelled
                    self._waits.pop(key, None)

    def suspend(self) -> bool:
        """Suspend the attempt if it waits and no step runs. Returns whether it is suspended."""
        with self._lock:
            self.suspended = self.suspended or (bool(self._waits) and self._running == 0)
        if self.suspended:
            self._notify()
        return self.suspended

    def adopt_suspension(self, waits: Iterable[Wait]) -> None:
        """Record that a handler in a child process is suspended, and what it waits for."""
        with self._lock:
            self._waits = {Key(wait.name, wait.each): wait for wait in waits}
            self.suspended = True

    def step_id(self, name: str, each: Any = NOT_GIVEN) -> str:
        """A key that is the same in every attempt, until the job is retried from this step or an earlier one."""
        key = key_of(name, each)
        with self._lock:
            parts = (self.record.id, self.record.created_at, *key, self._epoch(self._rows.get(key)))
        return hashlib.blake2b(msgspec.json.encode(parts), digest_size=16).hexdigest()

    def _notify(self) -> None:
        with self._lock:
            if self._changed is not None:
                self._changed.notify_all()
            listeners = list(self.listeners.values())
        for listener in listeners:
            listener()

    def _epoch(self, row: StepRow | None) -> int:
        return epoch_of(self.record.details) if row is None else row.epoch

    def _add(self, row: StepRow) -> None:
        key = Key(row.name, row.each)
        self._size += _size(row) - _size(self._rows.get(key))
        self._number = max(self._number, row.number)
        self._rows[key] = row


class _Running:
    """The context manager of `StepLog.running`. A class is faster than a generator."""

    __slots__ = ("_log",)

    def __init__(self, log: StepLog) -> None:
        self._log = log

    def __enter__(self) -> None:
        self._log.begin()

    def __exit__(self, *raised: object) -> None:
        self._log.end()


def key_of(name: str, each: Any = NOT_GIVEN) -> Key:
    """The key of a step. Raises TypeError or ValueError for a name or an `each` that cannot be stored."""
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a checker
        raise TypeError(f"the name of a step is text, not {type(name).__name__}")
    if not 1 <= len(name) <= NAME_LIMIT or "\0" in name:
        raise ValueError(f"the name of a step has 1 to {NAME_LIMIT} characters, and no NUL")
    if each is NOT_GIVEN:
        return Key(name, "")
    try:
        text = msgspec.json.encode(each, order="deterministic").decode()
    except (TypeError, ValueError) as error:
        raise TypeError(f"step {name!r}: each= must be a JSON value: {error}") from error
    if len(text) > EACH_LIMIT or "\\u0000" in text:
        raise ValueError(f"step {name!r}: each= has at most {EACH_LIMIT} characters of JSON, and no NUL")
    return Key(name, text)


def _size(row: StepRow | None) -> int:
    return 0 if row is None or row.result is None else len(row.result)
