"""Get jobs, chains and blockers by id."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.details import origin_text
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine.operations import GetBlockers, GetChains, GetDependents, GetJobs, GetStarted
from holdfast.errors import JobNotFound, NotPending
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL, as_json, record
from holdfast.stores.sqlite.verbs import chains

_GET_JOBS = SQL["get_jobs"]
_GET_DEPENDENTS = SQL["get_dependents"]
_GET_STARTED = SQL["get_started"]
_BLOCKERS = SQL["blockers"]


def get_chains(context: PlanContext, operation: GetChains) -> Plan[list[ChainRecord | None]]:
    found = yield from chains.read(operation.ids)
    return [found.get(chain_id) for chain_id in operation.ids]


def get_jobs(context: PlanContext, operation: GetJobs) -> Plan[list[Record | None]]:
    rows = yield Statement(_GET_JOBS, {"ids": as_json(operation.ids)})
    found = {job.id: job for job in map(record, rows)}
    return [found.get(job_id) for job_id in operation.ids]


def get_blockers(context: PlanContext, operation: GetBlockers) -> Plan[list[ChainRecord]]:
    rows = yield Statement(_BLOCKERS, {"job_id": operation.job_id})
    return (yield from chains.need([chain_id for (chain_id,) in rows])) if rows else []


def get_dependents(context: PlanContext, operation: GetDependents) -> Plan[list[Record]]:
    rows = yield Statement(_GET_DEPENDENTS, {"chain_id": operation.chain_id, "limit": operation.limit})
    return [record(row) for row in rows]


def get_started(context: PlanContext, operation: GetStarted) -> Plan[list[str]]:
    beginnings = as_json([origin_text(job_id) for job_id in dict.fromkeys(operation.job_ids)])
    rows = yield Statement(_GET_STARTED, {"beginnings": beginnings, "limit": operation.limit})
    return [chain_id for (chain_id,) in rows]


def existing(ids: Sequence[str]) -> Plan[list[Record]]:
    """The jobs with these ids, in the given order. Raises JobNotFound for the first id that does not exist."""
    rows = yield Statement(_GET_JOBS, {"ids": as_json(ids)})
    found = {job.id: job for job in map(record, rows)}
    for job_id in ids:
        if job_id not in found:
            raise JobNotFound(job_id)
    return [found[job_id] for job_id in ids]


def with_status(ids: Sequence[str], statuses: tuple[Status, ...], wanted: str) -> Plan[list[Record]]:
    """The same, and NotPending for the first job whose status is none of these."""
    jobs = yield from existing(ids)
    for job in jobs:
        if job.status not in statuses:
            raise NotPending(job.id, job.status, wanted)
    return jobs
