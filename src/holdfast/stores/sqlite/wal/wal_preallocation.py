"""Give the write-ahead log its length at once, and not commit by commit.

A commit that makes the log longer has the file system write down the new length too, in a journal of its own: on
ext4 such an fsync takes about twice as long as one over what is there already. SQLite starts the log over at its
beginning once all of it was copied, so only a young log grows; but there is a young one whenever the last program
closed the file.
"""

from __future__ import annotations

import os
import sqlite3
from io import FileIO
from pathlib import Path

FRAMES = 1500
"""About what the log holds when it is time for a checkpoint."""
LENGTH = FRAMES * (4096 + 24)


def lengthen(writer: sqlite3.Connection, file: Path) -> None:
    """Write zeros behind the end of the log, up to `LENGTH`. `writer` is a connection to `file`, in no transaction.

    It holds the write lock meanwhile, so nobody else adds to the log. To SQLite the log ends where the next page does
    not bear its marks, whatever is there: what an earlier round left behind is not part of it either. When the write
    lock cannot be had, `sqlite3.OperationalError` is raised and nothing was done; where there is no room for all of
    it, `OSError`, and the log is as long as before.
    """
    log = file.with_name(f"{file.name}-wal")
    writer.execute("begin immediate")
    try:
        # SQLite holds no lock on this one of its files, so closing it drops none.
        with log.open("r+b", buffering=0) as opened:
            end = opened.seek(0, os.SEEK_END)
            if end < LENGTH:
                _write_zeros(opened, end)
    finally:
        writer.execute("rollback")


def _write_zeros(opened: FileIO, end: int) -> None:
    left = memoryview(bytes(LENGTH - end))
    try:
        while left:
            left = left[opened.write(left) :]
        os.fsync(opened.fileno())
    except OSError:
        # What is left of a disk that is nearly full is for commits, and for others.
        opened.truncate(end)
        raise
