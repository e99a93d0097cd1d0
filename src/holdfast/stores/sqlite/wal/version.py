"""Which SQLite libraries may checkpoint a write-ahead log while other connections write."""

from __future__ import annotations


def wal_is_safe(version: tuple[int, int, int]) -> bool:
    """Whether this SQLite library does not have the WAL-reset bug.

    With the bug, a checkpoint at the same time as a commit can lose that commit and later ones. The result is about
    checkpoints of this library only; another process may use another library. A distribution that fixed an older
    version without a new number counts as affected. That costs speed and nothing else.
    """
    match version:
        case (3, 44, patch):
            return patch >= 6
        case (3, 50, patch):
            return patch >= 7
        case _:
            return version >= (3, 51, 3)
