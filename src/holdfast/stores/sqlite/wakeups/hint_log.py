"""Hints between processes, as lines at the end of the wake file.

A process appends the hints of its commits. The append is also the file event that wakes the watches of other processes,
which then read the new lines. A line costs one system call after the commit; a row of a table would cost a statement
and a page of the write-ahead log in every commit.

A line that is never written costs time, never a job: a process may be killed between its commit and the append.
A transaction of the application has no moment after its commit, so its hints are rows: see `hint_table`.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
from itertools import count
from pathlib import Path
from typing import Final

import msgspec

from holdfast.engine.wakeups import ANYTHING, Hints
from holdfast.stores.sqlite.connection.file_checks import identity
from holdfast.stores.sqlite.wakeups.hint_table import encoded

MOST_BYTES: Final = 1024 * 1024
"""Above this size the log begins again. Readers then receive `anything=True`, because they may have missed lines."""

CHECK_EVERY: Final = 100
"""Lines that a process writes between two checks of the file."""

_CHUNK: Final = 64 * 1024

_decoder = msgspec.json.Decoder(Hints)


class HintLog:
    """Appends hints. Several threads and processes may append at the same time.

    The wake file is private to its owner. A symbolic link in its place is refused with `OSError`.
    """

    def __init__(self, path: str | os.PathLike[str], source: str) -> None:
        self._path = wake_file(path)
        self._source = source.encode()
        self._fd = _open_to_append(self._path)
        self._lock = threading.Lock()
        """Held while the descriptor is used: after a close, its number may belong to another file."""
        self._lines = count()
        self._next_check = random.randrange(CHECK_EVERY)  # a short program may write one line only
        self.notified = False
        """Set before each line; cleared by the watch that receives it."""
        if os.fstat(self._fd).st_size == 0:
            os.write(self._fd, self._line(Hints()))  # a reader recognises a log that began again by its last line

    def append(self, hints: Hints) -> None:
        """Send hints to other processes. Call it after the commit, never before.

        It never raises, because the commit is done. After `close` it does nothing.
        """
        line = self._line(hints)
        with self._lock:
            if self._fd >= 0:
                self.notified = True
                with contextlib.suppress(OSError):
                    self._write(line)

    def close(self) -> None:
        with self._lock:
            fd, self._fd = self._fd, -1
        os.close(fd)

    def _write(self, line: bytes) -> None:
        self._next_check -= 1
        if self._next_check < 0:
            self._next_check = CHECK_EVERY
            self._check()
        try:
            written = os.write(self._fd, line)
        except OSError:  # the disk may be full
            written = 0
        if written < len(line):
            os.ftruncate(self._fd, 0)
            os.write(self._fd, self._line(ANYTHING))

    def _line(self, hints: Hints) -> bytes:
        """Unique, so that a reader recognises the place where it stopped."""
        return b"%s %d %s\n" % (self._source, next(self._lines), encoded(hints))

    def _check(self) -> None:
        """Begin the log again if it is long. Open it again if the file was removed."""
        found = os.fstat(self._fd)
        if found.st_nlink == 0:
            fd, self._fd = self._fd, _open_to_append(self._path)
            os.close(fd)
        elif found.st_size > MOST_BYTES:
            os.ftruncate(self._fd, 0)


class HintLogReader:
    """Reads the lines that other processes have appended since the last read. For one thread at a time."""

    def __init__(self, path: str | os.PathLike[str], source: str) -> None:
        self._path = wake_file(path)
        self._own = source.encode() + b" "
        self._fd = -1
        self._offset = 0
        self._last = b""
        """The line before the offset. If the file has other bytes there, the log began again."""
        self._reopen()

    def read(self) -> Hints:
        """The new hints of other processes. `anything` if lines may have been missed."""
        try:
            data = self._from(self._offset - len(self._last))
            if not data.startswith(self._last) or (len(data) == len(self._last) and self._replaced()):
                self._reopen()
                return ANYTHING
        except OSError:
            return ANYTHING
        end = data.rfind(b"\n") + 1  # the last line may be incomplete; its event comes when it is complete
        lines = data[len(self._last) : end].splitlines(keepends=True)
        self._offset += end - len(self._last)
        if lines:
            self._last = lines[-1]
        hints = Hints()
        for line in lines:
            if not line.startswith(self._own):
                hints.add(_decoded(line))
        return hints

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _reopen(self) -> None:
        self.close()
        self._fd = os.open(self._path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0))
        begin = max(0, os.fstat(self._fd).st_size - _CHUNK)
        complete, newline, _ = self._from(begin).rpartition(b"\n")
        self._offset = begin + len(complete) + len(newline)
        self._last = complete.rpartition(b"\n")[2] + newline

    def _replaced(self) -> bool:
        """Whether the path leads to another file than the open one."""
        opened = os.fstat(self._fd)
        return identity(self._path) not in (None, (opened.st_dev, opened.st_ino))

    def _from(self, offset: int) -> bytes:
        os.lseek(self._fd, offset, os.SEEK_SET)
        parts: list[bytes] = []
        while part := os.read(self._fd, _CHUNK):
            parts.append(part)
        return b"".join(parts)


def wake_file(path: str | os.PathLike[str]) -> Path:
    """The wake file of the SQLite file at `path`. It is beside the real file, not beside a symbolic link to it."""
    file = Path(path).resolve()
    return file.with_name(f"{file.name}-wake")


def _open_to_append(path: Path) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    return os.open(path, flags, 0o600)


def _decoded(line: bytes) -> Hints:
    """The hints of a line. A line in another format means `anything=True`."""
    try:
        return _decoder.decode(line.split(b" ", 2)[2])
    except (IndexError, msgspec.MsgspecError, UnicodeDecodeError):
        return ANYTHING
