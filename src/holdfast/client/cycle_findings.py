"""Finds chains that wait for each other, for `holdfast doctor`. The text is the same for every store."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.waiting_cycles import cycles
from holdfast.engine.operations import Finding, GetWaiting, Waiting
from holdfast.error_types.refused import waits_in_cycle

SUBJECT = "dependency cycles"
WAITING_JOBS = GetWaiting(limit=10_000)
NAMED_CYCLES = 10
"""Maximum number of cycles in the findings."""


def cycle_findings(waiting: Sequence[Waiting]) -> list[Finding]:
    """The cycles among the chains that `WAITING_JOBS` returns. They are rare: a store refuses to write most cycles."""
    found = cycles(dict(waiting), NAMED_CYCLES)
    advice = "they never start: cancel them, or complete one of them from outside"
    if found:
        return [Finding("error", SUBJECT, f"{waits_in_cycle(cycle)}; {advice}") for cycle in found]
    partly = "" if len(waiting) < WAITING_JOBS.limit else f" among the {WAITING_JOBS.limit:,} oldest blocked jobs"
    return [Finding("ok", SUBJECT, f"none{partly}")]
