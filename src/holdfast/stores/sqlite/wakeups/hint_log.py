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
import threading
import time
from itertools import count
from pathlib import Path
from typing import Final

import msgspec

from holdfast.engine.wakeups import ANYTHING, Hints
from holdfast.stores.sqlite.connection.file_checks import identity
from holdfast.stores.sqlite.wakeups.hint_table import encoded

MOST_BYTES: Final = 1024 * 1024
"""Above this size the log begins again. Readers then receive `anything=True`, because they may have missed lines."""

CHECK_SECONDS: Final = 0.1
"""Time between two checks of the file. Lines that are written to a removed file in this time reach no reader.

A check before each line slowed down starts with fsync by a fifth: see decision 7.
"""

_MOST_READ: Final = 256 * 1024
"""Bytes of one read. A reader that is further behind continues at the end, and reports `anything=True`."""

_decoder = msgspec.json.Decoder(Hints)


class HintLog:
    """Appends hints. Several threads and processes may append at the same time.

    The wake file is private to its owner. A symbolic link in its place is refused with `OSError`.
    """

    def __init__(self, path: str | os.PathLike[str], source: str) -> None:
        self._path = str(wake_file(path))
        self._source = source.encode()
        self._fd = _open_to_append(self._path)
        self._opened = _identity_of(self._fd)
        self._lock = threading.Lock()
        """Held while the descriptor is used: after a close, its number may belong to another file."""
        self._lines = count()
        self._next_check = 0.0
        self.reaches_readers = True
        """False if the file was removed or replaced, and cannot be opened again. The next line tries once more."""
        self.notified = False
        """Set before each line; cleared by the watch that receives it."""
        # A reader recognises a log that began again by its last line, so there must be one. The disk may be full.
        with contextlib.suppress(OSError):
            if os.fstat(self._fd).st_size == 0:
                os.write(self._fd, self._line(Hints()))

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
        now = time.monotonic()
        if now >= self._next_check:
            self._check()
            self._next_check = now + CHECK_SECONDS
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
        """Open the file again if it was removed or replaced, because readers follow the path.

        Begin the log again if it is long.
        """
        try:
            found = os.stat(self._path)  # noqa: PTH116 - a third of the time that Path.stat takes
        except FileNotFoundError:
            found = None
        self.reaches_readers = found is not None and (found.st_dev, found.st_ino) == self._opened
        if found is None or not self.reaches_readers:
            fd, self._fd = self._fd, _open_to_append(self._path)
            os.close(fd)
            self._opened = _identity_of(self._fd)
            self.reaches_readers = True
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
        """The line before the offset. If the file has other bytes there, the log began again. Empty if the reader has
        found no line yet."""
        with contextlib.suppress(FileNotFoundError):  # it was removed; the next line of any process creates it
            self._reopen()

    def read(self) -> Hints:
        """The new hints of other processes. `anything` if lines may have been missed."""
        was_open, last = self._fd >= 0, self._last
        try:
            if not was_open:
                self._reopen()
                return ANYTHING
            data = self._from(self._offset - len(last))
            missed = not data.startswith(last) or len(data) == _MOST_READ
            if missed or not last or (len(data) == len(last) and self._replaced()):
                self._reopen()
                return ANYTHING if last or self._last else Hints()
        except OSError:
            self.close()
            return ANYTHING if was_open else Hints()
        end = data.rfind(b"\n") + 1  # the last line may be incomplete; its event comes when it is complete
        lines = data[len(last) : end].splitlines(keepends=True)
        self._offset += end - len(last)
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
        """Open the file that is at the path now, and continue after its last line."""
        fd = os.open(self._path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0))
        self.close()
        self._fd = fd
        begin = max(0, os.fstat(fd).st_size - _MOST_READ)
        complete, newline, _ = self._from(begin).rpartition(b"\n")
        self._offset = begin + len(complete) + len(newline)
        self._last = complete.rpartition(b"\n")[2] + newline

    def _replaced(self) -> bool:
        """Whether the path leads to another file than the open one."""
        return identity(self._path) not in (None, _identity_of(self._fd))

    def _from(self, offset: int) -> bytes:
        """In one call, because the log may begin again between two. Without `fstat`: see CHECK_SECONDS."""
        return os.pread(self._fd, _MOST_READ, offset)


def wake_file(path: str | os.PathLike[str]) -> Path:
    """The wake file of the SQLite file at `path`. It is beside the real file, not beside a symbolic link to it."""
    file = Path(path).resolve()
    return file.with_name(f"{file.name}-wake")


def _identity_of(fd: int) -> tuple[int, int]:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino


def _open_to_append(path: str) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    return os.open(path, flags, 0o600)


def _decoded(line: bytes) -> Hints:
    """The hints of a line. A line in another format means `anything=True`."""
    try:
        return _decoder.decode(line.split(b" ", 2)[2])
    except (IndexError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ANYTHING
