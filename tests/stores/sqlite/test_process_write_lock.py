"""The process write lock when it is closed during a wait."""

from __future__ import annotations

import fcntl
from contextlib import ExitStack
from pathlib import Path

import pytest

from holdfast.stores.sqlite.writing.process_write_lock import ProcessWriteLock
from tests.stores.sqlite.descriptors import under


def test_a_close_during_a_wait_does_not_touch_the_lock_of_another_file(path: Path, tmp_path: Path) -> None:
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
