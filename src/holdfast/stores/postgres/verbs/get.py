"""Read jobs, chains, blockers and past attempts by id."""

from __future__ import annotations

from holdfast.core.details import origin_text
from holdfast.core.record import ChainRecord, Record
from holdfast.engine.operations import (
    GetBlockers,
    GetChains,
    GetDependents,
    GetHistory,
    GetJobs,
    GetStarted,
    PastAttempt,
)
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL, by_id, chain, record
from holdfast.stores.postgres.verbs import chains
from holdfast.stores.sql.plan import Statement

_GET_JOBS = SQL["get_jobs"]
_GET_BLOCKERS = SQL["get_blockers"]
_GET_DEPENDENTS = SQL["get_dependents"]
_GET_STARTED = SQL["get_started"]
_GET_HISTORY = SQL["get_history"]


def get_chains(context: PlanContext, op: GetChains) -> Plan[list[ChainRecord | None]]:
    found = yield from chains.read(op.ids)
    return [found.get(chain_id) for chain_id in op.ids]


def get_jobs(context: PlanContext, op: GetJobs) -> Plan[list[Record | None]]:
    found = by_id((yield Statement(_GET_JOBS, {"ids": list(op.ids)})))
    return [found.get(job_id) for job_id in op.ids]


def get_blockers(context: PlanContext, op: GetBlockers) -> Plan[list[list[ChainRecord]]]:
    blockers: dict[str, list[ChainRecord]] = {job_id: [] for job_id in op.job_ids}
    for row in (yield Statement(_GET_BLOCKERS, {"job_ids": list(blockers)})):
        blockers[row[-1]].append(chain(row))
    return [blockers[job_id] for job_id in op.job_ids]


def get_dependents(context: PlanContext, op: GetDependents) -> Plan[list[Record]]:
    rows = yield Statement(_GET_DEPENDENTS, {"chain_id": op.chain_id, "limit": op.limit})
    return [record(row) for row in rows]


def get_started(context: PlanContext, op: GetStarted) -> Plan[list[str]]:
    beginnings = [origin_text(job_id) for job_id in dict.fromkeys(op.job_ids)]
    rows = yield Statement(_GET_STARTED, {"beginnings": beginnings, "limit": op.limit})
    return [chain_id for (chain_id,) in rows]


def get_history(context: PlanContext, op: GetHistory) -> Plan[tuple[Record, list[PastAttempt]] | None]:
    rows = yield Statement(_GET_JOBS, {"ids": [op.job_id]})
    if not rows:
        return None
    past = yield Statement(_GET_HISTORY, {"job_id": op.job_id})
    return record(rows[0]), [PastAttempt(*row) for row in past]
