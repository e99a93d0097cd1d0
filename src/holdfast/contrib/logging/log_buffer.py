"""The last log records of a handler as text, within limits."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime

Redact = Callable[[str], str]

_FORMATTER = logging.Formatter()


class LogBuffer:
    """Keeps the newest lines, at most `lines` and `size` characters. Any thread may add a record."""

    def __init__(self, lines: int, size: int, redact: Redact | None) -> None:
        self._lines = lines
        self._size = size
        self._redact = redact
        self._kept: deque[str] = deque()
        self._length = 0
        self._dropped = 0
        self._lock = threading.Lock()

    def add(self, record: logging.LogRecord) -> None:
        """Add a record: one line, and those of its traceback."""
        text = line_of(record)
        if self._redact is not None:
            text = self._redact(text)
        if len(text) > self._size:
            text = f"{text[: self._size // 2]} ... {text[-self._size // 3 :]}"[: self._size]
        with self._lock:
            self._keep(text.split("\n"))

    def _keep(self, lines: list[str]) -> None:
        for line in lines:
            self._kept.append(line)
            self._length += len(line) + 1
        while len(self._kept) > self._lines or (self._length > self._size and len(self._kept) > 1):
            self._length -= len(self._kept.popleft()) + 1
            self._dropped += 1

    def text(self) -> str:
        """The lines. The first one says how many were left out."""
        with self._lock:
            left_out = [f"... {self._dropped:,} earlier lines left out"] if self._dropped else []
            return "\n".join([*left_out, *self._kept])


def line_of(record: logging.LogRecord) -> str:
    """A record as text: time, level, logger and message, then its traceback."""
    at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    message = record.getMessage().replace("\n", "\n    ")
    text = f"{at} {record.levelname} {record.name}: {message}"
    for part in (_FORMATTER.formatException(record.exc_info) if record.exc_info else "", record.stack_info or ""):
        if part:
            text += "\n    " + part.replace("\n", "\n    ")
    return text
