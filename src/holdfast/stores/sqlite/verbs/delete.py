"""Delete whole chains. A chain that an unfinished job waits for is not deleted."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.engine.operations import Delete
from holdfast.errors import StillReferenced
from holdfast.stores.sql.lane_releases import announce_releases
from holdfast.stores.sql.plan import Many, Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL, as_json
from holdfast.stores.sqlite.verbs import steps
from holdfast.stores.sqlite.verbs.audit import write_audit

_STATUSES = SQL["chain_statuses"]
_CHAIN_JOBS = SQL["chain_jobs"]
_BLOCKERS = SQL["blockers"]
_WAITING = SQL["waiting"]
_DELETE_JOB = SQL["delete_job"]
_DELETE_ATTEMPTS = SQL["delete_attempts"]
_DELETE_BLOCKERS = SQL["delete_blockers"]
_DELETE_REFERENCES = SQL["delete_references"]


def delete(context: PlanContext, operation: Delete) -> Plan[list[str]]:
    rows = yield Statement(_STATUSES, {"ids": as_json(operation.chain_ids)})
    existing = {chain_id for chain_id, _ in rows}
    deletable = {chain_id: None for chain_id in operation.chain_ids if chain_id in existing}
    if operation.cascade:
        yield from _add_blockers(deletable)
    stranded: list[tuple[str, str]] = []
    for chain_id in deletable:
        rows = yield Statement(_WAITING, {"chain_id": chain_id})
        stranded += [(chain_id, job_id) for _, job_id, waiting_chain in rows if waiting_chain not in deletable]
    if stranded:
        raise StillReferenced(stranded)
    yield from remove(context, list(deletable))
    yield from announce_releases(context, SQL)
    yield from write_audit(context, operation.audit, "delete", [(chain_id, chain_id) for chain_id in deletable])
    return list(deletable)


def _add_blockers(deletable: dict[str, None]) -> Plan[None]:
    """Add the blockers of every job of these chains, and the blockers of those in turn."""
    walk = list(deletable)
    for chain_id in walk:  # the loop appends to this list
        for _, job_id, *_ in (yield Statement(_CHAIN_JOBS, {"chain_id": chain_id})):
            for (blocker,) in (yield Statement(_BLOCKERS, {"job_id": job_id})):
                if blocker not in deletable:
                    deletable[blocker] = None
                    walk.append(blocker)


def remove(context: PlanContext, chain_ids: Sequence[str]) -> Plan[None]:
    """Delete chains with their jobs, attempts, blockers, steps and messages."""
    seqs: list[dict[str, object]] = []
    ids: list[dict[str, object]] = []
    for chain_id in chain_ids:
        for seq, id, type, status, attempt, worker in (yield Statement(_CHAIN_JOBS, {"chain_id": chain_id})):
            seqs.append({"seq": seq})
            ids.append({"id": id})
            if status == "running":
                context.hints.lost.add(id)
            context.record("deleted", id, chain_id, type, attempt, worker)
        context.hints.finished.add(chain_id)
    if ids:
        yield Many(_DELETE_JOB, seqs)
        yield Many(_DELETE_ATTEMPTS, ids)
        yield Many(_DELETE_BLOCKERS, ids)
        yield Many(_DELETE_REFERENCES, [{"chain_id": chain_id} for chain_id in chain_ids])
        yield from steps.remove_all(ids, chain_ids)
