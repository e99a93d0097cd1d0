"""The order of the processes that write, where it ends."""

from __future__ import annotations

import fcntl
from contextlib import ExitStack
from pathlib import Path

import pytest

from holdfast.stores.sqlite.writing.process_write_lock import ProcessWriteLock
from tests.stores.sqlite.descriptors import under


def test_one_that_is_closed_under_a_waiter_takes_and_drops_nobody_elses_lock(path: Path, tmp_path: Path) -> None:
    write_lock = ProcessWriteLock(path)
    number = write_lock._fd  # pyright: ignore[reportPrivateUsage]
    other = (tmp_path / "other").open("wb")
    fcntl.flock(other, fcntl.LOCK_EX)

    with other, ExitStack() as numbers:

        def close_and_reopen() -> bool:
            write_lock.close()
            numbers.enter_context(under(number, other.fileno()))
            return True

        assert write_lock.retry_while_busy(close_and_reopen, timeout=1)
        with (tmp_path / "other").open("rb") as again, pytest.raises(BlockingIOError):
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert write_lock.retry_while_busy(lambda: True, timeout=1)
