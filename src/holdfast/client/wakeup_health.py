"""Checks whether the wake-ups of a store arrive, for `holdfast doctor`."""

from __future__ import annotations

from holdfast.engine.operations import Finding
from holdfast.engine.wakeups import ConnectedWakeups, NoWakeups, Wakeups

SUBJECT = "wake-ups"


def wakeup_findings(wakeups: Wakeups) -> list[Finding]:
    """The state of wake-ups that need a connection. Those within a process or a file are not checked."""
    if isinstance(wakeups, NoWakeups):
        return [Finding("ok", SUBJECT, "none: workers poll every second")]
    if not isinstance(wakeups, ConnectedWakeups):
        return []
    problem = wakeups.problem
    if wakeups.healthy:
        return [Finding("ok", SUBJECT, f"they arrive, by way of {wakeups.name}")]
    return (
        []
        if problem is None
        else [Finding("warning", SUBJECT, f"{problem}; workers poll every second ({wakeups.name})")]
    )
