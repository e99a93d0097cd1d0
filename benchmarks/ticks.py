"""What handlers report to the runner through a memory-mapped file: that they ran, and how soon.

A handler counts with `tick` in a slot of its own process, so no two processes write one number. Counting does not use
the store, so it costs every contender the same fraction of a microsecond.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import threading
import time
from pathlib import Path

VARIABLE = "HOLDFAST_BENCH_TICKS"
SLOTS = 8192
_FIELDS = 2
"""A slot is a count and the time of its first increase. The first slot holds the number of used slots."""
_SIZE = 8 * _FIELDS * (SLOTS + 1)


class Ticks:
    """The runner's side: reads what all processes have counted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._laps = path.with_suffix(".laps")

    def create(self) -> None:
        """Reset all counts."""
        self.path.write_bytes(bytes(_SIZE))
        self._laps.write_bytes(b"")

    def count(self) -> int:
        """How many handlers have run."""
        values = self._values()
        return sum(values[_FIELDS::_FIELDS])

    def first(self) -> int:
        """When the first ran, by the monotonic clock in nanoseconds."""
        return min(when for when in self._values()[_FIELDS + 1 :: _FIELDS] if when)

    def laps(self) -> list[float]:
        """Seconds from each `sent` to the first line of its handler."""
        raw = self._laps.read_bytes()
        return [each / 1e9 for each in memoryview(raw[: len(raw) // 8 * 8]).cast("q")]

    def _values(self) -> list[int]:
        raw = self.path.read_bytes()
        taken = int.from_bytes(raw[:8], "little")
        return memoryview(raw[: 8 * _FIELDS * (taken + 1)]).cast("q").tolist()


class _Slot:
    """A process's own slot."""

    def __init__(self, path: str) -> None:
        with open(path, "r+b") as file:  # noqa: PTH123 - a descriptor to lock and to map
            fcntl.flock(file, fcntl.LOCK_EX)
            self._map = mmap.mmap(file.fileno(), _SIZE)
            values = memoryview(self._map).cast("q")
            values[0] += 1
            self.at = _FIELDS * values[0]
            fcntl.flock(file, fcntl.LOCK_UN)
        self.values = values
        self.values[self.at + 1] = time.monotonic_ns()
        self.laps = os.open(Path(path).with_suffix(".laps"), os.O_WRONLY | os.O_APPEND)


_lock = threading.Lock()
_slot: _Slot | None = None


def tick() -> None:
    """Count one handler's run. Safe from any thread."""
    with _lock:
        slot = _slot or _take()
        slot.values[slot.at] += 1


def ticked() -> int:
    """How many handlers of this process have run."""
    return 0 if _slot is None else _slot.values[_slot.at]


def lap(sent: int) -> None:
    """Report how long ago, by the monotonic clock in nanoseconds, this handler's job was sent; counts it too."""
    took = time.monotonic_ns() - sent
    tick()
    assert _slot is not None
    os.write(_slot.laps, took.to_bytes(8, "little", signed=True))


def lap_of_second() -> None:
    """Report how long ago the current second began, for a tick at a full second. If it is later, it looks earlier."""
    lap(time.monotonic_ns() - time.time_ns() % 1_000_000_000)


def _take() -> _Slot:
    global _slot
    _slot = _Slot(os.environ[VARIABLE])
    return _slot


def _forget() -> None:
    global _slot, _lock
    _slot = None
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget)
