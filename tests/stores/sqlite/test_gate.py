"""The order of the processes that write, where it ends."""

from __future__ import annotations

import fcntl
from io import BufferedWriter
from pathlib import Path

import pytest

from holdfast.stores.sqlite.gate import Gate


def test_one_that_is_closed_under_a_waiter_takes_and_drops_nobody_elses_lock(path: Path, tmp_path: Path) -> None:
    gate = Gate(path)
    other = tmp_path / "other"

    def close_and_reopen() -> bool:
        gate.close()
        held.append(other.open("wb"))  # most likely under the number that became free
        fcntl.flock(held[0], fcntl.LOCK_EX)
        return True

    held: list[BufferedWriter] = []
    done = gate.patiently(close_and_reopen, timeout=1)

    assert done
    with held[0], other.open("rb") as again, pytest.raises(BlockingIOError):
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert gate.patiently(lambda: True, timeout=1)
