"""Read: nothing here changes a job."""

from __future__ import annotations

from holdfast.core.clock import Micros
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine.operations import (
    GetBlockers,
    GetChains,
    GetHistory,
    GetJobs,
    GetStats,
    NextDue,
    PastAttempt,
    TypeStats,
)
from holdfast.stores.sql.plan import Plan, Statement, Turn
from holdfast.stores.sqlite.rows import SQL, as_json, record
from holdfast.stores.sqlite.verbs import chains

_GET_JOBS = SQL["get_jobs"]
_BLOCKERS = SQL["blockers"]
_HISTORY = SQL["get_history"]
_PENDING = SQL["stats_pending"]
_RUNNING = SQL["stats_running"]
_RARE = SQL["stats_rare"]
_TOTAL = SQL["stats_total"]
_PAUSED = SQL["stats_paused"]
_NEXT_PENDING = SQL["next_due_pending"]
_NEXT_LEASED = SQL["next_due_leased"]


def get_chains(turn: Turn, op: GetChains) -> Plan[list[ChainRecord | None]]:
    found = yield from chains.read(op.ids)
    return [found.get(chain_id) for chain_id in op.ids]


def get_jobs(turn: Turn, op: GetJobs) -> Plan[list[Record | None]]:
    rows = yield Statement(_GET_JOBS, {"ids": as_json(op.ids)})
    found = {job.id: job for job in map(record, rows)}
    return [found.get(job_id) for job_id in op.ids]


def get_blockers(turn: Turn, op: GetBlockers) -> Plan[list[ChainRecord]]:
    rows = yield Statement(_BLOCKERS, {"job_id": op.job_id})
    return (yield from chains.need([chain_id for (chain_id,) in rows])) if rows else []


def get_history(turn: Turn, op: GetHistory) -> Plan[tuple[Record, list[PastAttempt]] | None]:
    rows = yield Statement(_GET_JOBS, {"ids": as_json([op.job_id])})
    if not rows:
        return None
    past = yield Statement(_HISTORY, {"job_id": op.job_id})
    return record(rows[0]), [PastAttempt(*row) for row in past]


def get_stats(turn: Turn, op: GetStats) -> Plan[list[TypeStats]]:
    totals: dict[str, int] = dict((yield Statement(_TOTAL)))
    paused = {type for (type,) in (yield Statement(_PAUSED))}
    pending = {row[0]: row[1:] for row in (yield Statement(_PENDING, {"now": turn.now}))}
    counts: dict[str, dict[Status, int]] = {type: {} for type in totals.keys() | paused}
    for type, (number, _, _) in pending.items():
        counts[type][Status.PENDING] = number
    for type, number in (yield Statement(_RUNNING)):
        counts[type][Status.RUNNING] = number
    for status, type, number in (yield Statement(_RARE)):
        counts[type][Status(status)] = number
    stats: list[TypeStats] = []
    for type, by_status in sorted(counts.items()):
        if completed := totals.get(type, 0) - sum(by_status.values()):
            by_status[Status.COMPLETED] = completed
        number, due, oldest = pending.get(type, (0, 0, None))
        stats.append(TypeStats(type, by_status, due, number - due, oldest, type in paused))
    return stats


def next_due(turn: Turn, op: NextDue) -> Plan[Micros | None]:
    types = {"types": as_json(op.types)}
    [(pending,)] = yield Statement(_NEXT_PENDING, types)
    [(leased,)] = yield Statement(_NEXT_LEASED, types)
    moments = [moment for moment in (pending, leased) if moment is not None]
    return max(0, min(moments) - turn.now) if moments else None
