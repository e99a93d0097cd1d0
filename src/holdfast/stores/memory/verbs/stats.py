"""Count the jobs of each type."""

from __future__ import annotations

from collections import Counter

from holdfast.core.record import Record, Status
from holdfast.engine.operations import GetStats, TypeStats
from holdfast.stores.memory.state import State


def get_stats(state: State, op: GetStats) -> list[TypeStats]:
    now = state.now()
    by_type: dict[str, list[Record]] = {name: [] for name in state.paused}
    for job in state.jobs.values():
        by_type.setdefault(job.type, []).append(job)
    stats: list[TypeStats] = []
    for name, jobs in sorted(by_type.items()):
        pending = [job.scheduled_at for job in jobs if job.status is Status.PENDING]
        due = [moment for moment in pending if moment <= now]
        counts = Counter(job.status for job in jobs)
        scheduled = len(pending) - len(due)
        oldest = min(due, default=None)
        stats.append(TypeStats(name, dict(counts), len(due), scheduled, oldest, name in state.paused))
    return stats
