"""Preallocate the write-ahead log, so that commits do not extend it.

After a commit that extends the log, the file system must also write the new length to its journal. On ext4 such an
fsync takes about twice as long as one without a new length. After a complete checkpoint SQLite starts at the beginning
of the log again, so only a new log grows. A log is new after the last program has closed the file.
"""

from __future__ import annotations

import os
import sqlite3
from io import FileIO
from pathlib import Path

FRAMES = 1500
"""About the size of the log when a checkpoint is due."""
LENGTH = FRAMES * (4096 + 24)


def preallocate(writer: sqlite3.Connection, file: Path) -> None:
    """Append zeros to the log, up to `LENGTH`. `writer` is a connection to `file` that is not in a transaction.

    `writer` holds the write lock meanwhile, so that no other connection appends to the log. For SQLite the log ends at
    the first page without valid checksum and salt. The zeros are therefore not part of it, and neither are pages from
    before the last restart. If the write lock is not available, `sqlite3.OperationalError` is raised and nothing has
    changed. If the disk is full, `OSError` is raised and the log has its old length.
    """
    log = file.with_name(f"{file.name}-wal")
    writer.execute("begin immediate")
    try:
        # SQLite holds no POSIX lock on this file, so closing our descriptor releases none.
        with log.open("r+b", buffering=0) as opened:
            end = opened.seek(0, os.SEEK_END)
            if end < LENGTH:
                _write_zeros(opened, end)
    finally:
        writer.execute("rollback")


def _write_zeros(opened: FileIO, end: int) -> None:
    try:
        _write_all(opened, memoryview(bytes(LENGTH - end)))
        os.fsync(opened.fileno())
    except OSError:
        # Leave the rest of a nearly full disk to commits and to other programs.
        opened.truncate(end)
        raise


def _write_all(opened: FileIO, left: memoryview) -> None:
    while left:
        left = left[opened.write(left) :]
