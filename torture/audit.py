"""The audit: every change of a job's row, written by the store itself in the same transaction or script.

The audit does not use the library's own events: triggers (SQL) and a wrapped `redis.call` (Lua) record the changes of
rows, independently of the code that makes them.
"""

from __future__ import annotations

import msgspec


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One row before and after a change. A status of None: the row did not exist before, or was deleted."""

    seq: int
    """Order in the audit. Changes of one job are in the order of their commits."""
    at: int
    """The store's clock, in microseconds."""
    tx: str | None = None
    """The id of the transaction or script, if the store has one."""
    id: str
    chain: str
    index: int
    type: str
    before: str | None
    after: str | None
    attempt_before: int = 0
    attempt: int = 0
    max_attempts: int | None = None
    token_before: str | None = None
    token: str | None = None
    leased_before: int | None = None
    leased_until: int | None = None
    scheduled_before: int | None = None
    scheduled_at: int | None = None
    priority: int = 0
    worker_before: str | None = None
    worker: str | None = None
    key: str | None = None
    finished_at: int | None = None
    keep: int | None = None


COLUMNS = tuple(name for name in Change.__struct_fields__ if name not in ("seq", "at", "tx"))
"""What a trigger copies: each is a column of the job's row, or its value before the change."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A job at the end of the run, read through the store's own verbs."""

    id: str
    chain: str
    index: int
    type: str
    status: str
    attempt: int
    token: str | None
    worker: str | None
    key: str | None
    output: str | None
    error_bytes: int
    error: str | None
    open_blockers: int
    on_blocker_failure: str
    scheduled_at: int
