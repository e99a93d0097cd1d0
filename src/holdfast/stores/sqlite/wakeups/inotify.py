"""File events of Linux (inotify) for a few named files in one directory.

The watch on the directory reports only created, moved and deleted names, and that the directory itself was moved. Each
file has its own watch for its content. Another program that writes without pause in the same directory therefore costs
nothing. A single watch on the content of the directory would report every such write.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

IN_MODIFY = 0x2
IN_MOVED_FROM = 0x40
IN_MOVED_TO = 0x80
IN_CREATE = 0x100
IN_DELETE = 0x200
IN_MOVE_SELF = 0x800
IN_Q_OVERFLOW = 0x4000
IN_IGNORED = 0x8000
IN_ONLYDIR = 0x1000000

_NAMES = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO

_HEADER = struct.Struct("iIII")
_READ = 64 * 1024


class DirectoryRemoved(OSError):
    """The watched directory was removed, renamed or unmounted: no further event of its path will come."""


class FileEvents:
    """Reports which of `names` in `directory` changed since the last read.

    `fileno()` becomes readable when there is an event. Raises `OSError` if the kernel has no inotify, or if the user
    has no instance left. For one thread at a time.
    """

    def __init__(self, directory: Path, names: Iterable[str]) -> None:
        self._directory = directory
        self._names = frozenset(names)
        self._watched: dict[int, str] = {}
        self._libc = _libc()
        self._fd: int = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise _error("inotify_init1")
        try:
            self._directory_watch = self._watch(directory, _NAMES | IN_MOVE_SELF | IN_ONLYDIR)
            for name in self._names:
                self._watch_contents(name)
        except BaseException:
            os.close(self._fd)
            raise

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        os.close(self._fd)

    def read(self) -> dict[str, bool]:
        """The changed names, and for each whether it may lead to another file than before, or to none. Never blocks.

        After an overflow of the kernel's queue every name may have changed. Then all names are returned as replaced.
        """
        try:
            data = os.read(self._fd, _READ)
        except BlockingIOError:
            return {}
        changed: dict[str, bool] = {}
        offset = 0
        while offset < len(data):
            wd, mask, _, length = _HEADER.unpack_from(data, offset)
            offset += _HEADER.size
            name = os.fsdecode(data[offset : offset + length].rstrip(b"\0"))
            offset += length
            if mask & IN_Q_OVERFLOW:
                for every in self._names:
                    self._watch_contents(every)
                    changed[every] = True
            elif wd == self._directory_watch and mask & (IN_IGNORED | IN_MOVE_SELF):
                raise DirectoryRemoved(f"{self._directory} was removed, renamed or unmounted, so it cannot be watched")
            elif mask & IN_IGNORED:
                self._watched.pop(wd, None)
            elif wd == self._directory_watch:
                if name in self._names:
                    self._watch_contents(name)
                    changed[name] = True
            elif wd in self._watched:
                changed.setdefault(self._watched[wd], False)
        return changed

    def _watch_contents(self, name: str) -> None:
        # The file does not exist: the watch on the directory will report its creation.
        with contextlib.suppress(FileNotFoundError):
            self._watched[self._watch(self._directory / name, IN_MODIFY)] = name

    def _watch(self, path: Path, mask: int) -> int:
        wd: int = self._libc.inotify_add_watch(self._fd, os.fsencode(path), mask)
        if wd < 0:
            raise _error(str(path))
        return wd


def _libc() -> ctypes.CDLL:
    if sys.platform != "linux":
        raise OSError("this system has no inotify")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.inotify_add_watch.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32]
    return libc


def _error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), what)
