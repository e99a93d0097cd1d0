"""The audit: what operators changed. A store writes an entry atomically with the change."""

from __future__ import annotations

from typing import ClassVar, Final, NamedTuple

import msgspec

from holdfast.core.clock import SECOND, Micros
from holdfast.engine.operations.operation import Operation

AUDIT_KEPT: Final = 90 * 24 * 3600 * SECOND
"""How long an entry is kept. `Prune` deletes older ones, and `GetAudit` does not return them."""


class Audit(msgspec.Struct, frozen=True):
    """Who makes a change, and why. An operation without it is not an operator's, and leaves no entry."""

    user: str
    reason: str | None = None


class AuditRow(NamedTuple):
    """One change: what was done, to which chain, job, type or other thing.

    `chain_id` is the chain that a changed job or chain belongs to, None for a change of something else.
    """

    at: Micros
    user: str
    action: str
    target: str
    chain_id: str | None
    reason: str | None


class GetAudit(Operation[list[AuditRow]], frozen=True):
    """The newest entries, newest first, at most `limit`.

    `about`: only entries whose target or chain is one of these. `since`: only entries of this time or later.
    """

    verb: ClassVar = "get_audit"
    writes: ClassVar = False
    limit: int
    about: tuple[str, ...] = ()
    since: Micros | None = None
