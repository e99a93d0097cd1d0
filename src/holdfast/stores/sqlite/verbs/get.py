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
_BLOCKER_CHAINS = SQL["blocker_chains"]


def get_chains(context: PlanContext, operation: GetChains) -> Plan[list[ChainRecord | None]]:
    found = yield from chains.read(operation.ids)
    return [found.get(chain_id) for chain_id in operation.ids]


def get_jobs(context: PlanContext, operation: GetJobs) -> Plan[list[Record | None]]:
    rows = yield Statement(_GET_JOBS, {"ids": as_json(operation.ids)})
    found = {job.id: job for job in map(record, rows)}
    return [found.get(job_id) for job_id in operation.ids]


def get_blockers(context: PlanContext, operation: GetBlockers) -> Plan[list[list[ChainRecord]]]:
    rows = yield Statement(_BLOCKER_CHAINS, {"job_ids": as_json(dict.fromkeys(operation.job_ids))})
    found: dict[str, ChainRecord] = {}
    others: list[str] = []
    completed = Status.COMPLETED
    for (
        _, id, seq, type, attempt, max_attempts, input, output, worker, token, created_at, scheduled_at, started_at,
        finished_at, keep, key, dedup_for, other,
    ) in rows:  # fmt: skip
        if other:
            others.append(id)
            continue
        job = Record(
            seq, id, type, id, 0, completed, 0, attempt, max_attempts, input, output, None, key, worker, token, None,
            None, None, None, created_at, scheduled_at, started_at, finished_at, None, keep, None, 0, 0, "wait", None,
            None, dedup_for,
        )  # fmt: skip
        found[id] = ChainRecord(job, job)
    if others:
        found.update((chain.first.id, chain) for chain in (yield from chains.need(others)))
    blockers: dict[str, list[ChainRecord]] = {job_id: [] for job_id in operation.job_ids}
    for row in rows:
        blockers[row[0]].append(found[row[1]])
    return [blockers[job_id] for job_id in operation.job_ids]


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
