"""Reads which chains wait for which other chains, and detects dependency cycles.

The walk from the blockers of a job locks the last job of every chain that it reaches. If two transactions together
close a cycle, the second one waits for the first, and then sees what the first one wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from holdfast.core.lifecycle import NewJob
from holdfast.core.replacing import replaces
from holdfast.core.waiting_cycles import MOST_CHAINS, walk
from holdfast.engine.operations import GetWaiting, Waiting
from holdfast.errors import DependencyCycle
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs import chains, dedup
from holdfast.stores.sql.plan import Row, Statement

_WAITING = SQL["get_waiting"]
_REACHED = SQL["waits_reached"]
_NAMED_BY = SQL["named_by"]


def get_waiting(context: PlanContext, op: GetWaiting) -> Plan[list[Waiting]]:
    rows = yield Statement(_WAITING, {"limit": op.limit})
    return [Waiting(chain_id, tuple(after)) for chain_id, after in rows]


class Continuations:
    """The continuations of one chain, and the chains that are started in the same operation."""

    def __init__(self, jobs: Iterable[NewJob], starts: Sequence[NewJob], expected: Sequence[str]) -> None:
        self.cycles: dict[str, DependencyCycle] = {}
        """The cycle that each job would close, by job id, from the last call of `find_cycles`."""
        self._jobs = [job for job in jobs if job.after]
        self._starts = starts
        pairs = zip(starts, expected, strict=True)
        self._replaced: dict[str, Sequence[str]] = {id: start.after for start, id in pairs if replaces(start, id)}

    def find_cycles(self, *, awaited: bool) -> Plan[set[int]]:
        """Find the cycles. Returns the jobs that must be locked for the result to stay valid.

        A chain is part of no cycle if it is not `awaited`, no started chain names it, and it does not name itself.
        """
        if not self._jobs:
            return set()
        chain_id = self._jobs[0].chain_id
        beside = yield from self._new_starts()
        if not (
            awaited
            or any(chain_id in job.after for job in self._jobs)
            or any(chain_id in after for after in beside.values())
        ):
            self.cycles = {}
            return set()
        self.cycles, kept = yield from _walk([(job.id, chain_id, job.after) for job in self._jobs], beside)
        return kept

    def _new_starts(self) -> Plan[dict[str, Sequence[str]]]:
        waiting = [start for start in self._starts if start.after]
        stored = (yield from dedup.roots(start.id for start in waiting)) if waiting else {}
        return {**{start.id: start.after for start in waiting if start.id not in stored}, **self._replaced}


def replaced(
    starts: Sequence[tuple[str, str, Sequence[str]]], beside: Mapping[str, Sequence[str]]
) -> Plan[tuple[dict[str, DependencyCycle], set[int]]]:
    """The cycles that starts would close, by their ids, and the jobs to lock. A start is its id, chain and blockers.

    `beside` has the blockers of these chains, and of others that are written with them.
    """
    return (yield from _walk(starts, beside))


def retried(chain_ids: Mapping[str, str]) -> Plan[tuple[dict[str, DependencyCycle], set[int]]]:
    """The cycles that these jobs would close if they were blocked again, by job id, and the jobs to lock.

    `chain_ids` has the chain of each job.
    """
    after: dict[str, list[str]] = {}
    for job_id, blocker in (yield Statement(_NAMED_BY, {"ids": list(chain_ids)})):
        after.setdefault(job_id, []).append(blocker)
    again = {chain_ids[job_id]: blockers for job_id, blockers in after.items()}
    return (yield from _walk([(job_id, chain_ids[job_id], after[job_id]) for job_id in after], again))


def _walk(
    jobs: Sequence[tuple[str, str, Sequence[str]]], beside: Mapping[str, Sequence[str]]
) -> Plan[tuple[dict[str, DependencyCycle], set[int]]]:
    """Walk from the blockers of jobs, which are given as id, chain and blockers.

    `beside` has the chains that begin to wait in the same operation.
    """
    named = dict.fromkeys(blocker for after in [*(each[2] for each in jobs), *beside.values()] for blocker in after)
    rows = yield Statement(_REACHED, {"ids": list(named), "most": len(named) + MOST_CHAINS})
    waits = {**_by_chain(rows), **beside}
    cycles: dict[str, DependencyCycle] = {}
    reached: set[str] = set()
    for job_id, chain_id, after in jobs:
        found = walk(chain_id, after, lambda chain: waits.get(chain, ()))
        reached.update(found.reached)
        if found.cycle is not None:
            cycles[job_id] = found.cycle
    tails = yield from chains.tails(reached)
    return cycles, {tail.seq for tail in tails.values()}


def _by_chain(rows: Iterable[Row]) -> dict[str, list[str]]:
    waits: dict[str, list[str]] = {}
    for chain_id, blocker in rows:
        waits.setdefault(chain_id, []).append(blocker)
    return waits
