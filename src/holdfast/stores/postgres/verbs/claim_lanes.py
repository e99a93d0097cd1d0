"""Claim jobs with lanes, and jobs without lanes beside them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec.structs import asdict

from holdfast.core.lanes import Track
from holdfast.core.record import Record
from holdfast.engine.operations import ClaimedJobs, ClaimJobs
from holdfast.stores.postgres.plan import Commit, Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL, record
from holdfast.stores.postgres.verbs.claim_single_lanes import claim_single_lanes, may_be_alike
from holdfast.stores.sql.lane_claims import CHANGES, LAST, LaneClaims, as_text
from holdfast.stores.sql.lane_pass import changed_lanes, choose_jobs, counted_jobs, own_lane
from holdfast.stores.sql.lane_rows import WakingRow
from holdfast.stores.sql.plan import Statement

_ADMIT = SQL["lanes_admit"]
_CHANGES = SQL["lane_changes"]
_PLAIN_PRIORITIES = SQL["plain_priorities"]
_CLAIM_CHOSEN = SQL["claim_chosen"]
_CLAIM = SQL["claim"]


class _Lanes(LaneClaims):
    """One statement for all types, lanes or rows."""

    def ready_parameters(self, types: Collection[str], limit: int) -> Sequence[Mapping[str, Any]]:
        return [{"types": as_text(list(types)), "limit": limit}]

    def woken_parameters(self, pairs: Sequence[WakingRow], limit: int) -> Sequence[Mapping[str, Any]]:
        rows = [asdict(pair) for pair in pairs]
        return [{"pairs": as_text(rows), "limit": limit}] if rows else []

    def asked(self, tracks: Sequence[Track]) -> dict[str, Any]:
        return {
            "tracks": [each.id for each in tracks],
            "types": [each.type for each in tracks],
            "priorities": [each.priority for each in tracks],
        }

    def turn_instruction(self, turns: Sequence[tuple[str, int]]) -> Statement:
        given = {
            "prefixes": [prefix for prefix, _ in turns],
            "ends": [prefix + LAST for prefix, _ in turns],
            "turns": [number for _, number in turns],
        }
        return Statement(SQL["track_turn"], given)

    def rows_instruction(self, name: str, rows: Sequence[Mapping[str, Any]]) -> Statement:
        return Statement(SQL[name], {"rows": as_text(rows)})


_LANES = _Lanes(SQL)


def claim_with_lanes(context: PlanContext, op: ClaimJobs, parameters: Mapping[str, Any]) -> Plan[ClaimedJobs]:
    """Claim plain jobs and jobs of ready tracks, until the limit is reached or nothing is left to claim.

    Each pass is one transaction. `parameters` are those of the statement `claim`.
    """
    types: list[str] = parameters["types"]
    claimed = ClaimedJobs()
    idle: set[str] = set()
    took_lanes = False
    while (limit := op.limit - len(claimed)) > 0:
        if context.first and context.scan_starts.tries_single_lanes():
            taken = yield from claim_single_lanes(context, parameters, limit)
            if taken:
                took_lanes = True
                claimed.add(taken)
                break
        ((admitted, turn),) = yield Statement(_ADMIT, {"limit": CHANGES})
        context.hints.due.update(admitted)
        yield from context.begin()
        changed = changed_lanes((yield Statement(_CHANGES, {"limit": CHANGES})))
        found = yield from _LANES.find(context, types, changed, limit)
        newly_idle = found.idle - idle
        idle |= newly_idle
        limit = 0 if newly_idle else limit
        plain = yield from _plain_priorities(context, types, limit)
        choice = choose_jobs(found, plain, limit=limit, now=context.now, lanes_next=context.scan_starts.lanes_next)
        context.scan_starts.lanes_next = choice.lanes_next
        jobs: list[Record] = []
        context.scan_starts.note_single_lanes(may_be_alike(found, limit))
        if choice.taken:
            took_lanes = True
            seqs = [job.seq for _, job in choice.taken]
            lanes = [own_lane(found, track) for track, _ in choice.taken]
            given = {"seqs": seqs, "lanes": lanes, "counted": counted_jobs(found), "now": context.now}
            jobs += map(record, (yield Statement(_CLAIM_CHOSEN, {**_terms(parameters), **given})))
            jobs.sort(key=lambda job: job.seq)
            for job in jobs:
                context.record("claimed", job.id, job.chain_id, job.type, job.attempt, job.worker)
        if choice.plain:
            given = {"limit": choice.plain, "ahead": 0, "unless_lanes": False, "now": context.now}
            rows = yield Statement(_CLAIM, {**parameters, **given})
            plain_jobs = [record(row) for row in rows if row[0] is not None]
            jobs += sorted(plain_jobs, key=lambda job: (-job.priority, job.scheduled_at, job.seq))
        yield from _LANES.save(context, found, turn)
        yield from context.write_events()
        yield Commit()
        claimed.add(jobs)
        if not (jobs or choice.parked or found.changed or admitted or newly_idle):
            break
    claimed.sort(key=lambda job: -job.priority)
    claimed.overlaps = took_lanes
    context.scan_starts.took_lanes = types if took_lanes else None
    return claimed


def _plain_priorities(context: PlanContext, types: list[str], limit: int) -> Plan[list[int]]:
    given = {"types": types, "limit": limit, "now": context.now}
    rows = yield Statement(_PLAIN_PRIORITIES, given)
    return [priority for priority, number in rows for _ in range(number)]


def _terms(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: parameters[name] for name in ("types", "leases", "limits", "worker", "token")}
