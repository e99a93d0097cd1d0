"""Checkpoint the write-ahead log without the WAL-reset bug.

The bug needs a commit that restarts the log after a checkpoint has read the length of the log and before it begins to
copy. Here no such commit is possible: another connection holds the write lock for as long as the checkpoint runs.
See docs/decisions/0002-sqlite-wal-without-the-reset-bug.md.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple


class Checkpointed(NamedTuple):
    """The result of a checkpoint. Both numbers are 0 if another connection was making a checkpoint."""

    frames: int
    """Pages in the log."""
    copied: int
    """Pages of the log that are in the file now. Fewer than `frames` while a reader needs an older snapshot."""


def checkpoint(writer: sqlite3.Connection, copier: sqlite3.Connection) -> Checkpointed:
    """Copy the log into the file through `copier`, while `writer` holds the write lock.

    Both are connections to the same file, and neither is in a transaction. Writers of all processes wait meanwhile;
    readers do not. After the whole log was copied, the next commit starts at its beginning again. If the write lock is
    not available, `sqlite3.OperationalError` is raised and nothing has changed.

    `wal_checkpoint(FULL)` on one connection is not enough: it tries for the same lock, but after the timeout it
    continues without it.
    """
    writer.execute("begin immediate")
    try:
        [(busy, frames, copied)] = copier.execute("pragma wal_checkpoint(passive)").fetchall()
    finally:
        writer.execute("rollback")
    return Checkpointed(0, 0) if busy else Checkpointed(frames, copied)
