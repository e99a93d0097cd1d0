"""Read: nothing here changes a job."""

from __future__ import annotations

from holdfast.core.clock import SECOND, Micros
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine.operations import (
    EventRow,
    GetBlockers,
    GetChains,
    GetHistory,
    GetJobs,
    GetStats,
    Listen,
    NextDue,
    PastAttempt,
    ReadEvents,
    TypeStats,
    Unlisten,
)
from holdfast.stores.postgres.execution import Turn
from holdfast.stores.postgres.rows import SQL, chain, record, status
from holdfast.stores.postgres.verbs import chains
from holdfast.stores.sql.plan import Plan, Row, Statement

_GET_JOBS = SQL["get_jobs"]
_GET_BLOCKERS = SQL["get_blockers"]
_GET_HISTORY = SQL["get_history"]
_GET_STATS = SQL["get_stats"]
_NEXT_DUE = SQL["next_due"]
_LISTEN = SQL["listen"]
_UNLISTEN = SQL["unlisten"]
_READ_EVENTS = SQL["read_events"]
_EVENT_WRITERS = SQL["event_writers"]


def get_chains(turn: Turn, op: GetChains) -> Plan[list[ChainRecord | None]]:
    found = yield from chains.read(op.ids)
    return [found.get(chain_id) for chain_id in op.ids]


def get_jobs(turn: Turn, op: GetJobs) -> Plan[list[Record | None]]:
    found = {row[1]: record(row) for row in (yield Statement(_GET_JOBS, {"ids": list(op.ids)}))}
    return [found.get(job_id) for job_id in op.ids]


def get_blockers(turn: Turn, op: GetBlockers) -> Plan[list[ChainRecord]]:
    return [chain(row) for row in (yield Statement(_GET_BLOCKERS, {"job_id": op.job_id}))]


def get_history(turn: Turn, op: GetHistory) -> Plan[tuple[Record, list[PastAttempt]] | None]:
    rows = yield Statement(_GET_JOBS, {"ids": [op.job_id]})
    if not rows:
        return None
    past = yield Statement(_GET_HISTORY, {"job_id": op.job_id})
    return record(rows[0]), [PastAttempt(*row) for row in past]


def get_stats(turn: Turn, op: GetStats) -> Plan[list[TypeStats]]:
    by_type: dict[str, dict[str, Row]] = {}
    for row in (yield Statement(_GET_STATS, {"now": turn.clock})):
        by_type.setdefault(row[0], {})[row[1]] = row[2:]
    return [_type_stats(type, rows) for type, rows in sorted(by_type.items()) if "paused" in rows or rows["all"][0]]


def next_due(turn: Turn, op: NextDue) -> Plan[Micros | None]:
    rows = yield Statement(_NEXT_DUE, {"types": list(op.types), "now": turn.clock})
    return rows[0][0] if rows else None


def listen(turn: Turn, op: Listen) -> Plan[int]:
    ((newest,),) = yield Statement(_LISTEN, {"listener": op.listener, "lease": op.lease, "now": turn.clock})
    return int(newest)


def unlisten(turn: Turn, op: Unlisten) -> Plan[None]:
    yield Statement(_UNLISTEN, {"listener": op.listener})


def read_events(turn: Turn, op: ReadEvents) -> Plan[list[EventRow]]:
    """A number that is missing may belong to a transaction that still runs: what follows it waits for that to end."""
    read = Statement(_READ_EVENTS, {"after": op.after, "limit": op.limit})
    rows = yield read
    if rows and rows[-1][0] - op.after > len(rows):
        # Who writes is asked before what was written: one that ends in between is seen.
        ((newest, since),) = yield Statement(_EVENT_WRITERS)
        rows = _accounted_for(op.after, (yield read), newest, since)
    return [EventRow(*event) for *event, _ in rows]


def _accounted_for(after: int, rows: list[Row], newest: int, since: Micros | None) -> list[Row]:
    """The events up to the first number that is missing and may still appear."""
    last = after
    for place, (seq, *_, written_at) in enumerate(rows):
        final = seq <= newest and (since is None or written_at + SECOND < since)
        if seq != last + 1 and not final:
            return rows[:place]
        last = seq
    return rows


def _type_stats(type: str, rows: dict[str, Row]) -> TypeStats:
    counts = {status(name): row[0] for name, row in rows.items() if name not in ("all", "paused")}
    total = rows["all"][0] if "all" in rows else 0
    if completed := total - sum(counts.values()):
        counts[Status.COMPLETED] = completed
    pending, due, oldest_due = rows.get("pending", (0, 0, None))
    return TypeStats(type, counts, due, pending - due, oldest_due, "paused" in rows)
