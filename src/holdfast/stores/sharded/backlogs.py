"""The number of due jobs per shard, read at most every few seconds, to place chains that may go anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Final

from holdfast.core.details import read_details
from holdfast.core.lifecycle import NewJob
from holdfast.engine.operations import GetStats, Place, TypeStats
from holdfast.stores.sharded.placement import UNKNOWN_LOAD, place
from holdfast.stores.sharded.plan import Plan
from holdfast.stores.sharded.routing import Routing

MAXIMUM_AGE: Final = 5.0


class Backlogs:
    """A reading of all shards. Chains that are placed in between are added to it."""

    def __init__(self) -> None:
        self._due: dict[str, int] = {}
        self._read_at = float("-inf")

    def place(self, routing: Routing, operation: Place, up: Sequence[str]) -> Plan[tuple[NewJob, ...]]:
        """Choose the shards of new chains. The shards are read only if a chain may go anywhere."""
        if any(_may_go_anywhere(job) for job in operation.jobs):
            yield from self._refresh(routing, up)
        loads = {name: self._due.get(name, 0) if name in up else UNKNOWN_LOAD for name in routing.names}
        placed = place(routing, operation.jobs, loads)
        for job in placed:
            name = routing.of_id(job.id)
            self._due[name] = self._due.get(name, 0) + 1
        return placed

    def _refresh(self, routing: Routing, up: Sequence[str]) -> Plan[None]:
        if monotonic() < self._read_at + MAXIMUM_AGE and all(self._due.get(name, 0) < UNKNOWN_LOAD for name in up):
            return
        self._read_at = monotonic()
        answers = yield dict.fromkeys(up, GetStats(may_lag=True))
        self._due = {name: _due(answers.get(name)) for name in routing.names}


def _may_go_anywhere(job: NewJob) -> bool:
    return not job.chosen and job.key is None and not job.after and read_details(job.details).shard is None


def _due(stats: list[TypeStats] | Exception | None) -> int:
    return sum(row.due for row in stats) if isinstance(stats, list) else UNKNOWN_LOAD
