"""A separate disk for a run that can be full without effect on other processes of the machine.

For root it is a tmpfs that is shrunk to its content and filled to the last page: real ENOSPC. Without root, the size of
the files that the server's processes may write is limited (RLIMIT_FSIZE): EFBIG above that size. In both cases a write
fails in the middle.
"""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOM = 8 << 30
LEFT = 128 << 10
"""Bytes that a shrunk disk has above its content, because the store writes meanwhile. The filler file takes them."""
MOST_PAGES = 1 << 14
"""More pages than are freed while a disk is full."""
EXTRA_SECONDS = 3.0
"""Additional seconds for a store that has not needed any space yet."""


class Disk:
    """A mounted tmpfs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"

    def be_full(self, seconds: float, refused: Callable[[], bool]) -> bool:
        """Keep the disk full for a time, or until the store has refused a write, whichever is longer.

        `refused` lets the store write, and returns whether that failed. Returns whether it ever failed.
        """
        seen = False
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < (until if seen else until + EXTRA_SECONDS):
                seen = (self.fill() and refused()) or seen
                time.sleep(0.05)
        finally:
            self.free()
        return seen

    def fill(self) -> bool:
        """Fill the disk. False if that failed because the store writes faster."""
        if self._filler.exists():  # shrunk before: take the pages that were freed since
            return self._top_up()
        for _ in range(50):
            reported = os.statvfs(self.path)
            if self._resize((reported.f_blocks - reported.f_bfree) * reported.f_frsize + LEFT):
                return self._top_up()
        return False

    def free(self) -> None:
        self._resize(ROOM)
        self._filler.unlink(missing_ok=True)

    def _top_up(self) -> bool:
        """Fill every free page."""
        with self._filler.open("ab", buffering=0) as filler:
            for _ in range(MOST_PAGES):
                try:
                    filler.write(bytes(os.statvfs(self.path).f_bsize))
                except OSError as error:
                    return error.errno == errno.ENOSPC
        return False

    def _resize(self, size: int) -> bool:
        command = ["mount", "-o", f"remount,size={size}", str(self.path)]
        return subprocess.run(command, check=False, capture_output=True).returncode == 0


@contextmanager
def own_disk() -> Generator[Disk | None]:
    """A disk until the end of the block; None if this user may not mount one."""
    if os.geteuid() != 0:
        yield None
        return
    path = Path(tempfile.mkdtemp(prefix="hf-disk-"))
    path.chmod(0o755)
    command = ["mount", "-t", "tmpfs", "-o", f"size={ROOM},mode=755", "tmpfs", str(path)]
    mounted = subprocess.run(command, check=False, capture_output=True).returncode == 0
    try:
        yield Disk(path) if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(path)], check=False, capture_output=True)  # noqa: S607
        path.rmdir()


@contextmanager
def limited(pid: int, size: int) -> Generator[None]:
    """During the block, a process and its children cannot write beyond this size of any file."""
    hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
    try:
        _limit(pid, size, hard)
        yield
    finally:
        _limit(pid, hard, hard)


def _limit(pid: int, soft: int, hard: int) -> None:
    # Twice: a process that was forked meanwhile has the old limit.
    for _ in range(2):
        for each in (pid, *_children(pid)):
            with suppress(ProcessLookupError):
                resource.prlimit(each, resource.RLIMIT_FSIZE, (soft, hard))
        time.sleep(0.01)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, task.read_text().split())
    return found
