"""What `holdfast doctor` says about chains that wait for each other, in the same words for every store."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.dependencies import cycles
from holdfast.engine.operations import Finding, GetWaiting, Waiting
from holdfast.errors import waits_in_cycle

SUBJECT = "dependency cycles"
QUESTION = GetWaiting(limit=10_000)
MOST_NAMED = 10
"""Cycles that are named."""


def cycle_findings(waiting: Sequence[Waiting]) -> list[Finding]:
    """The cycles among the chains that answer `QUESTION`. A store refuses to write most of them."""
    found = cycles(dict(waiting), MOST_NAMED)
    advice = "they never start: cancel them, or complete one of them from outside"
    if found:
        return [Finding("error", SUBJECT, f"{waits_in_cycle(cycle)}; {advice}") for cycle in found]
    partly = "" if len(waiting) < QUESTION.limit else f" among the {QUESTION.limit:,} oldest blocked jobs"
    return [Finding("ok", SUBJECT, f"none{partly}")]
