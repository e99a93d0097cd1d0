"""Delete and prune: chains go whole, never from under a job that still needs them."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.engine.operations import Delete, Prune
from holdfast.errors import StillReferenced
from holdfast.stores.sql.plan import Many, Plan, Statement, Turn
from holdfast.stores.sqlite.rows import SQL, as_json

_STATUSES = SQL["chain_statuses"]
_CHAIN_JOBS = SQL["chain_jobs"]
_BLOCKERS = SQL["blockers"]
_WAITING = SQL["waiting"]
_EXPIRED = SQL["prune_expired"]
_DELETE_JOB = SQL["delete_job"]
_DELETE_ATTEMPTS = SQL["delete_attempts"]
_DELETE_BLOCKERS = SQL["delete_blockers"]
_DELETE_REFERENCES = SQL["delete_references"]


def delete(turn: Turn, op: Delete) -> Plan[list[str]]:
    rows = yield Statement(_STATUSES, {"ids": as_json(op.chain_ids)})
    existing = {chain_id for chain_id, _ in rows}
    deletable = {chain_id: None for chain_id in op.chain_ids if chain_id in existing}
    if op.cascade:
        yield from _add_blockers(deletable)
    stranded: list[tuple[str, str]] = []
    for chain_id in deletable:
        rows = yield Statement(_WAITING, {"chain_id": chain_id})
        stranded += [(chain_id, job_id) for _, job_id, waiting_chain in rows if waiting_chain not in deletable]
    if stranded:
        raise StillReferenced(stranded)
    yield from _remove(turn, list(deletable))
    return list(deletable)


def prune(turn: Turn, op: Prune) -> Plan[list[str]]:
    rows = yield Statement(_EXPIRED, {"now": turn.now, "limit": op.limit})
    expired = [chain_id for (chain_id,) in rows]
    yield from _remove(turn, expired)
    return expired


def _add_blockers(deletable: dict[str, None]) -> Plan[None]:
    """Add the blockers of every job of these chains, and theirs."""
    walk = list(deletable)
    for chain_id in walk:  # grows as it is walked
        for _, job_id, *_ in (yield Statement(_CHAIN_JOBS, {"chain_id": chain_id})):
            for (blocker,) in (yield Statement(_BLOCKERS, {"job_id": job_id})):
                if blocker not in deletable:
                    deletable[blocker] = None
                    walk.append(blocker)


def _remove(turn: Turn, chain_ids: Sequence[str]) -> Plan[None]:
    """Forget chains and all that belongs to their jobs."""
    seqs: list[dict[str, object]] = []
    ids: list[dict[str, object]] = []
    for chain_id in chain_ids:
        for seq, id, type, status, attempt, worker in (yield Statement(_CHAIN_JOBS, {"chain_id": chain_id})):
            seqs.append({"seq": seq})
            ids.append({"id": id})
            if status == "running":
                turn.hints.lost.add(id)
            turn.record("deleted", id, chain_id, type, attempt, worker)
        turn.hints.finished.add(chain_id)
    if ids:
        yield Many(_DELETE_JOB, seqs)
        yield Many(_DELETE_ATTEMPTS, ids)
        yield Many(_DELETE_BLOCKERS, ids)
        yield Many(_DELETE_REFERENCES, [{"chain_id": chain_id} for chain_id in chain_ids])
