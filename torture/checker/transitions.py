"""Reads the changes of a job: its timeline as text, the kind of each change, and when it was certainly committed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from torture.audit import Change

UNFINISHED = ("blocked", "pending", "running")
FINISHED = ("completed", "failed", "cancelled")
LONGEST_OPEN = 10_000_000
"""Microseconds for which a transaction may stay open after a change: its process may be frozen, or its commit slow."""


def timeline(changes: Iterable[Change]) -> str:
    """The transitions of a job without renewals."""
    reported = [change for change in changes if change.before != change.after or change.token_before != change.token]
    return " ".join(_step(change) for change in reported[-12:])


def _step(change: Change) -> str:
    token = (change.token or change.token_before or "")[:6]
    return f"[{change.seq} {change.before or 'none'}>{change.after or 'none'} #{change.attempt} {token}]"


def is_claim(change: Change) -> bool:
    """A new claim: the row was pending before, or (a violation) running with another token."""
    return change.after == "running" and (change.before != "running" or change.token != change.token_before)


def is_reap(change: Change) -> bool:
    """Reaped. A settlement keeps its token; a reap, and an operator's cancel, remove it."""
    return (
        change.before == "running"
        and change.token is None
        and change.token_before is not None
        and change.after in ("pending", "failed")
    )


def ends(change: Change) -> bool:
    return change.after in FINISHED and change.before != change.after


def is_outside(change: Change) -> bool:
    """Completed from outside: the row has no token."""
    return change.after == "completed" and change.before != "completed" and change.token is None


def parent_of(change: Change) -> str:
    """The job whose completion started this side chain: the key contains the job's id and the attempt's token."""
    return (change.key or "").partition("|")[0]


def committed_by(changes: Sequence[Change], place: int, reported: Iterable[int] = ()) -> int:
    """When a change of a job was certainly committed. The audit contains only the time of the write.

    The earliest of: a call reported it, another transaction changed the same row, or no transaction stays open longer.
    """
    change = changes[place]
    others = (each.at for each in changes[place + 1 :] if _is_of_another(each, change))
    known = [moment for moment in reported if moment >= change.at]
    return min([change.at + LONGEST_OPEN, *known, *islice(others, 1)])


def _is_of_another(later: Change, change: Change) -> bool:
    """Whether another transaction made the later change. Without transaction ids, a claim always is another one."""
    return is_claim(later) if change.tx is None else later.tx != change.tx
