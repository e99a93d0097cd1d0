"""Delete chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from holdfast.engine.operations import Delete
from holdfast.errors import StillReferenced
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs import chains, locks
from holdfast.stores.postgres.verbs.audit import write_audit
from holdfast.stores.sql.lane_releases import announce_releases
from holdfast.stores.sql.plan import Statement

_CASCADE = SQL["cascade"]
_CHAIN_JOBS = SQL["chain_jobs"]
_DEPENDENTS = SQL["dependents"]
_DELETE = SQL["delete"]


class Dependent(NamedTuple):
    """A job that names a chain as its blocker."""

    blocker: str
    id: str
    chain_id: str
    seq: int
    finished: bool


class _Deletable(NamedTuple):
    """Chains to delete, all their jobs, and the unfinished jobs of other chains that wait for them."""

    chain_ids: list[str]
    seqs: list[int]
    still_waiting: list[tuple[str, str]]


def delete(context: PlanContext, op: Delete) -> Plan[list[str]]:
    yield from context.begin()
    deletable = yield from locks.lock(context, lambda: _find(list(dict.fromkeys(op.chain_ids)), op.cascade))
    if deletable.still_waiting:
        raise StillReferenced(deletable.still_waiting)
    if deletable.chain_ids:
        yield from remove(context, deletable.chain_ids, deletable.seqs)
        yield from announce_releases(context, SQL)
        yield from write_audit(context, op.audit, "delete", [(each, each) for each in deletable.chain_ids])
    return deletable.chain_ids


def chain_jobs(chain_ids: Sequence[str]) -> Plan[dict[int, str]]:
    """The jobs of these chains: the chain of each job by its seq."""
    return dict((yield Statement(_CHAIN_JOBS, {"chain_ids": list(chain_ids)})))


def dependents(chain_ids: Sequence[str]) -> Plan[dict[str, list[Dependent]]]:
    """The jobs that name these chains as blockers, by chain."""
    naming: dict[str, list[Dependent]] = {}
    for row in (yield Statement(_DEPENDENTS, {"chain_ids": list(chain_ids)})):
        job = Dependent(*row)
        naming.setdefault(job.blocker, []).append(job)
    return naming


def remove(context: PlanContext, chain_ids: Sequence[str], seqs: Sequence[int]) -> Plan[None]:
    """Delete locked chains, which consist of the jobs with these seqs."""
    for row in (yield Statement(_DELETE, {"seqs": list(seqs), "chain_ids": list(chain_ids)})):
        id, chain_id, type, attempt, worker, status = row
        if status == "running":
            context.hints.lost.add(id)
        context.record("deleted", id, chain_id, type, attempt, worker)
    context.hints.finished.update(chain_ids)
    yield from context.write_events()


def _find(chain_ids: Sequence[str], cascade: bool) -> Plan[tuple[_Deletable, locks.Wanted]]:
    """Those of these chains that exist, with their blockers if `cascade`, and the jobs to lock for the deletion.

    All their jobs are locked, so that no job can begin to wait for them. Finished jobs that name them are locked too:
    the deletion removes these references.
    """
    known = yield from chains.tails(chain_ids)
    deletable = [chain_id for chain_id in chain_ids if chain_id in known]
    if not deletable:
        return _Deletable([], [], []), locks.Wanted([])
    if cascade:
        deletable = yield from _with_blockers(deletable)
    seqs = sorted((yield from chain_jobs(deletable)))
    naming = yield from dependents(deletable)
    inside = set(deletable)
    outside = [job for chain_id in deletable for job in naming.get(chain_id, ()) if job.chain_id not in inside]
    still_waiting = [(job.blocker, job.id) for job in outside if not job.finished]
    changed = {*seqs, *(job.seq for job in outside if job.finished)}
    return _Deletable(deletable, seqs, still_waiting), locks.Wanted(changed)


def _with_blockers(chain_ids: Sequence[str]) -> Plan[list[str]]:
    """These chains, the blockers of all their jobs, the blockers of those, and so on."""
    named: dict[str, list[str]] = {}
    unknown = list(chain_ids)
    while unknown:
        rows = yield Statement(_CASCADE, {"chain_ids": unknown})
        named |= {chain_id: [] for chain_id in unknown}
        for chain_id, blocker in rows:
            named[chain_id].append(blocker)
        unknown = list({blocker for _, blocker in rows} - named.keys())
    deletable = list(chain_ids)
    for chain_id in deletable:  # the list grows during the iteration
        deletable += [blocker for blocker in dict.fromkeys(named[chain_id]) if blocker not in deletable]
    return deletable
