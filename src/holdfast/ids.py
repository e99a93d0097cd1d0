"""Ids that sort by the time they were made."""

from __future__ import annotations

import os
import threading
import time
from uuid import UUID

_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """A UUID of version 7. Within a process each one sorts after those made before it."""
    global _last
    with _lock:
        # 48 bits of milliseconds and 12 of their fraction; a tie or a clock stepping back counts on from the last.
        stamp = max((time.time_ns() << 12) // 1_000_000, _last + 1)
        _last = stamp
    head = (stamp >> 12) << 80 | 7 << 76 | (stamp & 0xFFF) << 64
    tail = 0b10 << 62 | int.from_bytes(os.urandom(8)) >> 2
    return str(UUID(int=head | tail))


def new_token() -> str:
    """The token of one claim. It never repeats."""
    return os.urandom(12).hex()


def _forget_parent() -> None:
    # The lock may have been held by another thread when the process forked.
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_parent)
