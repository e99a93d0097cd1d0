"""Whether a store's wake-ups arrive: what the doctor says about them."""

from __future__ import annotations

from holdfast.engine.operations import Finding
from holdfast.engine.wakeups import ConnectedWakeups, NoWakeups, Wakeups

SUBJECT = "wake-ups"


def hearing(wakeups: Wakeups) -> list[Finding]:
    """What is wrong with wake-ups that need a connection; those within a process or a file need none."""
    if isinstance(wakeups, NoWakeups):
        return [Finding("ok", SUBJECT, "none: workers poll every second")]
    if not isinstance(wakeups, ConnectedWakeups):
        return []
    trouble = wakeups.trouble
    if wakeups.healthy:
        return [Finding("ok", SUBJECT, f"they arrive, by way of {wakeups.name}")]
    return (
        []
        if trouble is None
        else [Finding("warning", SUBJECT, f"{trouble}; workers poll every second ({wakeups.name})")]
    )
