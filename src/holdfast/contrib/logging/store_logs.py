"""Stores what a handler logs with its attempt, so that the job's report shows it."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

from holdfast.contrib.logging.log_buffer import LogBuffer, Redact
from holdfast.registry.plugin import Plugin
from holdfast.worker.running_job import child_notes
from holdfast.worker.worker import Worker

NOTE = "holdfast.contrib.logging"
"""The name of the text that a child process sends back."""

_buffer: ContextVar[LogBuffer | None] = ContextVar("holdfast_log_buffer", default=None)


class StoreLogs(Plugin):
    """Stores the log records of each handler with its attempt: ``Jobs(plugins=[StoreLogs()])``.

    It stores the newest `lines` lines, at most `size` characters, of the records that reach the root logger while the
    handler runs: on the event loop, in its thread, or in its child process. `redact(text)` returns the text to store
    for a record. An error in `redact` is reported by `logging`, and the record is left out.
    """

    def __init__(self, lines: int = 200, size: int = 64_000, redact: Redact | None = None) -> None:
        if lines < 1 or size < 1:
            raise ValueError(f"lines and size must be at least 1, not {lines} and {size}")
        if redact is not None and not callable(redact):
            raise TypeError(f"redact is a function that takes and returns a text, not {redact!r:.60}")
        self._new_buffer = partial(LogBuffer, lines, size, redact)

    async def around(self, attempt: Any, call_next: Callable[[], Awaitable[Any]], /) -> Any:
        buffer = self._new_buffer()
        token = _buffer.set(buffer)
        try:
            return await call_next()
        finally:
            _buffer.reset(token)
            text = attempt.child_notes[NOTE].decode() if NOTE in attempt.child_notes else buffer.text()
            if text:
                attempt.attach_log(text)

    def in_child(self, attempt: Any, /) -> Callable[[], AbstractContextManager[Any]]:
        return partial(_in_child, self._new_buffer)

    @asynccontextmanager
    async def lifespan(self, worker: Worker, /) -> AsyncGenerator[None]:
        with _HANDLER.attached():
            yield


@contextmanager
def _in_child(new_buffer: Callable[[], LogBuffer]) -> Generator[None]:
    buffer = new_buffer()
    token = _buffer.set(buffer)
    try:
        with _HANDLER.attached():
            yield
    finally:
        _buffer.reset(token)
        if text := buffer.text():
            child_notes[NOTE] = text.encode("utf-8", "replace")


class _BufferHandler(logging.Handler):
    """Adds each record to the buffer of the attempt that logs it. Several workers of a process share it."""

    def __init__(self) -> None:
        super().__init__()
        self._users = 0
        self._changing = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        if (buffer := _buffer.get()) is not None:
            try:
                buffer.add(record)
            except Exception:
                self.handleError(record)

    @contextmanager
    def attached(self) -> Generator[None]:
        """Receive the records of the root logger."""
        with self._changing:
            self._users += 1
            logging.getLogger().addHandler(self)
        try:
            yield
        finally:
            with self._changing:
                self._users -= 1
                if not self._users:
                    logging.getLogger().removeHandler(self)


_HANDLER = _BufferHandler()
