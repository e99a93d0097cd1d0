"""The counters of the store: after a run they equal the audit, per type."""

from __future__ import annotations

from collections import Counter

from torture.audit import Change
from torture.checker.verdict import Tally
from torture.evidence import Evidence

FINISHED = ("completed", "failed", "cancelled")


def check_counters(tally: Tally, evidence: Evidence) -> None:
    """Compare the totals of each type with the changes that the audit recorded."""
    reported = evidence.facts.counters
    if reported is None:
        return  # evidence of a run without counters
    audited: dict[str, Counter[str]] = {}
    for change in evidence.changes:
        audited.setdefault(change.type, Counter()).update(_counted(change))
    for type in sorted({*audited, *reported}):
        wanted, found = audited.get(type, Counter()), reported.get(type, {})
        for kind in sorted({*wanted, *found}):
            tally.expect(
                found.get(kind, 0) == wanted[kind],
                f"{type}: {found.get(kind, 0)} {kind} by the counters, {wanted[kind]} by the audit",
            )
    tally.counts["changes counted"] = sum(sum(each.values()) for each in audited.values())


def _counted(change: Change) -> list[str]:
    """What a change counts as. The audit does not distinguish retried from rescheduled attempts: they count together.

    A settled job keeps its token, a reaped one does not. A released or mismatched attempt gives its number back.
    """
    if change.before is None:
        return ["started"]
    kinds: list[str] = []
    if change.after in FINISHED and change.before != change.after:
        kinds.append(change.after)
    if change.before == "running" and change.after in ("pending", "failed") and change.attempt == change.attempt_before:
        if change.token is None:
            kinds.append("reaped")
        elif change.after == "pending":
            kinds.append("repeated")
    return kinds
