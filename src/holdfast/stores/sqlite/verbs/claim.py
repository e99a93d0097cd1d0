"""Claim: assign due jobs to a worker, under a token and a lease."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.core.claim_ahead import claimable
from holdfast.core.record import Record
from holdfast.engine.operations import ClaimJobs
from holdfast.stores.sql.lane_claims import CHANGES
from holdfast.stores.sql.lane_pass import changed_lanes, choose_jobs, counted_jobs, own_lane
from holdfast.stores.sql.plan import Plan, PlanContext, Row, Statement
from holdfast.stores.sqlite.rows import SQL, as_json, record
from holdfast.stores.sqlite.verbs.claimed_records import claimed_records
from holdfast.stores.sqlite.verbs.track_reads import TrackReads

_HEADS = SQL["claim_heads"]
_NEXT_HEAD = SQL["claim_next_head"]
_DUE = SQL["claim_due"]
_CLAIM = SQL["claim"]
_CLAIM_CHOSEN = SQL["claim_chosen"]
_CLAIMED_BEFORE = SQL["claimed_before"]
_LANES_PRESENT = SQL["lanes_present"]
_JOBS_COUNTED = SQL["jobs_counted"]
_TURN_READ = SQL["turn_read"]
_TURN_SAVE = SQL["turn_save"]
_LANE_CHANGES = SQL["lane_changes"]
_LANE_CHANGES_DELETE = SQL["lane_changes_delete"]
_NO_LANES: Mapping[int, bool] = {}
_NO_ROWS: Mapping[int, Row] = {}

_LANES = TrackReads(SQL)


def claim(context: PlanContext, operation: ClaimJobs) -> Plan[list[Record]]:
    if operation.again:
        types = as_json(terms.type for terms in operation.types)
        if claimed_before := (yield Statement(_CLAIMED_BEFORE, {"types": types, "token": operation.token})):
            return [record(row) for row in claimed_before]
    [(with_lanes,)] = yield Statement(
        _LANES_PRESENT, {"types": as_json(terms.type for terms in operation.types), "now": context.now}
    )
    if with_lanes:
        return (yield from _claim_with_lanes(context, operation))
    due = yield from _due(context, operation, operation.limit + operation.ahead)
    if operation.ahead:
        ahead = {terms.type for terms in operation.types if terms.ahead}
        del due[claimable([type for _, type, _ in due], ahead, operation.limit) :]
    return (yield from _take(context, operation, [(type, seq) for _, type, seq in due]))


def _claim_with_lanes(context: PlanContext, operation: ClaimJobs) -> Plan[list[Record]]:
    """Claim plain jobs and jobs of ready tracks, until the limit is reached or nothing is left to claim."""
    types = list({terms.type: None for terms in operation.types})
    [(turn, lanes_next)] = yield Statement(_TURN_READ)
    claimed: list[Record] = []
    idle: set[str] = set()
    while (limit := operation.limit - len(claimed)) > 0:
        changed = yield from _changes()
        found = yield from _LANES.find(context, types, changed, limit)
        newly_idle = found.idle - idle
        idle |= newly_idle
        limit = 0 if newly_idle else limit
        plain = yield from _due(context, operation, limit)
        priorities = [priority for priority, _, _ in plain]
        choice = choose_jobs(found, priorities, limit=limit, now=context.now, lanes_next=bool(lanes_next))
        lanes_next = choice.lanes_next
        jobs = [(type, seq) for _, type, seq in plain[: choice.plain]]
        jobs += [(track.type, job.seq) for track, job in choice.taken]
        # Jobs that were read with their tracks have one lane. The permits are in the rows of the jobs.
        all_in_rows = bool(found.records)
        in_lanes = {job.seq: all_in_rows or own_lane(found, track) is not None for track, job in choice.taken}
        claimed += yield from _take(context, operation, jobs, in_lanes, found.records)
        if counted := counted_jobs(found):
            yield Statement(_JOBS_COUNTED, {"seqs": as_json(counted)})
        yield from _LANES.save(context, found, turn)
        turn += len(choice.taken)
        if not jobs and not choice.parked and not found.changed and not newly_idle:
            break
    yield Statement(_TURN_SAVE, {"turn": turn, "lanes_next": int(lanes_next)})
    return sorted(claimed, key=lambda job: -job.priority)


def _changes() -> Plan[dict[str, int]]:
    """Take the changes of lanes. Returns the lanes, each with the weight to refund."""
    rows = yield Statement(_LANE_CHANGES, {"limit": CHANGES})
    if rows:
        yield Statement(_LANE_CHANGES_DELETE, {"seqs": as_json([row[0] for row in rows])})
    return changed_lanes((lane, refund) for _, lane, refund in rows)


def _take(
    context: PlanContext,
    operation: ClaimJobs,
    due: list[tuple[str, int]],
    in_lanes: Mapping[int, bool] = _NO_LANES,
    read: Mapping[int, Row] = _NO_ROWS,
) -> Plan[list[Record]]:
    """Claim these jobs, given by type and seq.

    `in_lanes`: those with lanes, and whether their permits are in their rows. `read`: records that were read before.
    """
    if not due:
        return []
    claimed = yield from claimed_records(context, operation, due, read)
    terms = {terms.type: terms for terms in operation.types}
    alike: dict[tuple[str, bool | None], list[int]] = {}
    for type, seq in due:
        alike.setdefault((type, in_lanes.get(seq)), []).append(seq)
    for (type, own), some in alike.items():
        parameters = {
            "seqs": as_json(some),
            "max_attempts": terms[type].max_attempts,
            "worker": operation.worker,
            "token": operation.token,
            "leased_until": context.now + terms[type].lease,
            "now": context.now,
        }
        yield Statement(_CLAIM, parameters) if own is None else Statement(_CLAIM_CHOSEN, {**parameters, "own": own})
    for job in claimed:
        context.record("claimed", job.id, job.chain_id, job.type, job.attempt, job.worker)
    return claimed


def _due(context: PlanContext, operation: ClaimJobs, limit: int) -> Plan[list[tuple[int, str, int]]]:
    """Priority, type and seq of the due jobs without lanes.

    Highest priority first; within a priority the earliest of all types first.
    """
    due: list[tuple[int, str, int]] = []
    heads: dict[str, tuple[int, int]] = {}
    if limit > 0:
        rows = yield Statement(_HEADS, {"types": as_json({terms.type for terms in operation.types})})
        heads = {type: (priority, scheduled_at) for type, priority, scheduled_at in rows}
    while heads and len(due) < limit:
        highest = max(priority for priority, _ in heads.values())
        level: list[tuple[int, int, str]] = []
        left = limit - len(due)
        for type in [type for type, (priority, _) in heads.items() if priority == highest]:
            if heads[type][1] <= context.now:
                parameters = {"type": type, "priority": highest, "now": context.now, "limit": left}
                rows = yield Statement(_DUE, parameters)
                level += [(scheduled_at, seq, type) for scheduled_at, seq in rows]
        level.sort()
        due += [(highest, type, seq) for _, seq, type in level[:left]]
        if len(due) < limit:
            for type in [type for type, (priority, _) in heads.items() if priority == highest]:
                rows = yield Statement(_NEXT_HEAD, {"type": type, "priority": highest})
                if rows:
                    [heads[type]] = rows
                else:
                    del heads[type]
    return due
