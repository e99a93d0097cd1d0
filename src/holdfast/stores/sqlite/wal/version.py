"""Which SQLite libraries may checkpoint a write-ahead log while others write."""

from __future__ import annotations


def wal_is_safe(version: tuple[int, int, int]) -> bool:
    """Whether this SQLite library is free of the WAL-reset bug.

    With it, a checkpoint that races a commit can lose that commit, and later ones. The answer speaks for
    checkpoints made by this library only; another process may load another one. A distribution that patched
    an older version without renumbering it counts as affected, which costs speed and nothing else.
    """
    match version:
        case (3, 44, patch):
            return patch >= 6
        case (3, 50, patch):
            return patch >= 7
        case _:
            return version >= (3, 51, 3)
