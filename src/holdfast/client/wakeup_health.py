"""Checks whether the wake-ups of a store arrive, for `holdfast doctor`."""

from __future__ import annotations

from holdfast.engine.operations import Finding
from holdfast.engine.store import Store
from holdfast.engine.wakeups import ConnectedWakeups, NoWakeups, Wakeups

SUBJECT = "wake-ups"


def wakeup_findings(store: Store) -> list[Finding]:
    """The state of the wake-ups of a store, or of each of its shards."""
    if not store.sharded:
        return _findings(store.wakeups)
    return [finding for shard in store.shards for finding in _findings(shard.wakeups, f"{shard.name}: ")]


def _findings(wakeups: Wakeups, shard: str = "") -> list[Finding]:
    """The state of wake-ups that need a connection. Those within a process or a file are not checked."""
    if isinstance(wakeups, NoWakeups):
        return [Finding("ok", f"{shard}{SUBJECT}", "none: workers poll every second")]
    if not isinstance(wakeups, ConnectedWakeups):
        return []
    problem = wakeups.problem
    if wakeups.healthy:
        return [Finding("ok", f"{shard}{SUBJECT}", f"they arrive, by way of {wakeups.name}")]
    return (
        []
        if problem is None
        else [Finding("warning", f"{shard}{SUBJECT}", f"{problem}; workers poll every second ({wakeups.name})")]
    )
