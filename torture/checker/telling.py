"""What the changes of a job say: its story in a line, what each of them was, and by when it stood for certain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from torture.audit import Change

UNFINISHED = ("blocked", "pending", "running")
FINISHED = ("completed", "failed", "cancelled")
LONGEST_OPEN = 10_000_000
"""Microseconds for which a transaction may go on after a change: its process may be frozen, its commit on the way."""


def story(changes: Iterable[Change]) -> str:
    """The transitions of a job, renewals left out."""
    reported = [change for change in changes if change.before != change.after or change.token_before != change.token]
    return " ".join(_step(change) for change in reported[-12:])


def _step(change: Change) -> str:
    token = (change.token or change.token_before or "")[:6]
    return f"[{change.seq} {change.before or 'none'}>{change.after or 'none'} #{change.attempt} {token}]"


def is_claim(change: Change) -> bool:
    """A row that begins to be held: pending before, or running under another token, which is a theft."""
    return change.after == "running" and (change.before != "running" or change.token != change.token_before)


def is_reap(change: Change) -> bool:
    """Taken back from its worker: a settlement keeps its token, this does not; an operator's cancel does not either."""
    return (
        change.before == "running"
        and change.token is None
        and change.token_before is not None
        and change.after in ("pending", "failed")
    )


def ends(change: Change) -> bool:
    return change.after in FINISHED and change.before != change.after


def is_outside(change: Change) -> bool:
    """Completed from outside: no attempt's token stands on the row."""
    return change.after == "completed" and change.before != "completed" and change.token is None


def parent_of(change: Change) -> str:
    """The job whose completion started this side chain: its key is the job's id and the attempt's token."""
    return (change.key or "").partition("|")[0]


def stood_by(changes: Sequence[Change], place: int, reported: Iterable[int] = ()) -> int:
    """When a change of a job had committed for certain: the audit knows only when it was written.

    Somebody was told so, or another transaction changed the same row, or no transaction stays open for that long.
    """
    change = changes[place]
    others = (each.at for each in changes[place + 1 :] if _is_of_another(each, change))
    known = [moment for moment in reported if moment >= change.at]
    return min([change.at + LONGEST_OPEN, *known, *islice(others, 1)])


def _is_of_another(later: Change, change: Change) -> bool:
    """Whether it was another transaction's: where the audit names none, a claim always is."""
    return is_claim(later) if change.tx is None else later.tx != change.tx
