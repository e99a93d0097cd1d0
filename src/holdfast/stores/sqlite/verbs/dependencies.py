"""Which chains wait for which chains, and the check that no cycle is created."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from holdfast.core.record import Record
from holdfast.core.waiting_cycles import MOST_CHAINS, walk
from holdfast.engine.operations import GetWaiting, Waiting
from holdfast.errors import DependencyCycle
from holdfast.stores.sql.plan import Plan, PlanContext, Row, Statement
from holdfast.stores.sqlite.rows import SQL, as_json

_WAITING = SQL["get_waiting"]
_REACHED = SQL["waits_reached"]
_BLOCKERS = SQL["blockers"]


def get_waiting(context: PlanContext, operation: GetWaiting) -> Plan[list[Waiting]]:
    rows = yield Statement(_WAITING, {"limit": operation.limit})
    return [Waiting(chain_id, tuple(after)) for chain_id, after in _by_chain(rows).items()]


def cycle(chain_id: str, after: Sequence[str], beside: Mapping[str, Sequence[str]]) -> Plan[DependencyCycle | None]:
    """The cycle that would exist if a job of this chain waited for `after`; None without one.

    `beside` are the blockers of chains that begin to wait in the same operation.
    """
    named = dict.fromkeys([*after, *(blocker for each in beside.values() for blocker in each)])
    rows = yield Statement(_REACHED, {"ids": as_json(named), "most": len(named) + MOST_CHAINS})
    waits = {**_by_chain(rows), **beside}
    return walk(chain_id, after, lambda chain: waits.get(chain, ())).cycle


def check_retried(jobs: Iterable[Record]) -> Plan[None]:
    """Raise DependencyCycle if a retried job that is blocked again would create a cycle."""
    again: dict[str, list[str]] = {}
    for job in jobs:
        if job.open_blockers:
            again[job.chain_id] = [row[0] for row in (yield Statement(_BLOCKERS, {"job_id": job.id}))]
    for chain_id, after in again.items():
        if (found := (yield from cycle(chain_id, after, again))) is not None:
            raise found


def _by_chain(rows: Iterable[Row]) -> dict[str, list[str]]:
    waits: dict[str, list[str]] = {}
    for chain_id, blocker in rows:
        waits.setdefault(chain_id, []).append(blocker)
    return waits
