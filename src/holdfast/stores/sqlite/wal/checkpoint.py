"""Folding the write-ahead log into the file without meeting the WAL-reset bug.

The bug needs a commit that restarts the log while a checkpoint, which has already read how long the log is, has
not yet begun to copy. Here no such commit can happen: the write lock is held by another connection for as long as
the checkpoint runs. See docs/decisions/0002-sqlite-wal-without-the-reset-bug.md.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple


class Checkpointed(NamedTuple):
    """How far a checkpoint came. Both are 0 when another connection was busy with a checkpoint of its own."""

    frames: int
    """Pages in the log."""
    copied: int
    """How many of them are in the file now. Fewer than `frames` while a reader still needs the older file."""


def checkpoint(writer: sqlite3.Connection, copier: sqlite3.Connection) -> Checkpointed:
    """Copy the log into the file through `copier`, while `writer` holds the write lock.

    Both are connections to the same file, neither in a transaction. Writers of any process wait meanwhile;
    readers do not. The log starts over with the first commit after all of it was copied. When the write lock
    cannot be had, `sqlite3.OperationalError` is raised and nothing was done.

    One connection and `wal_checkpoint(FULL)` would not do: it takes the same lock, but when that is busy for too
    long it goes on without.
    """
    writer.execute("begin immediate")
    try:
        [(busy, frames, copied)] = copier.execute("pragma wal_checkpoint(passive)").fetchall()
    finally:
        writer.execute("rollback")
    return Checkpointed(0, 0) if busy else Checkpointed(frames, copied)
