"""Claim jobs with lanes, and jobs without lanes beside them.

A pass sends its statements in two parts, which the server performs without waiting for the client: one that locks and
reads, and after the choice one that writes and commits. So a worker runs handlers while the server reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.core.record import Record
from holdfast.engine.generators import translate
from holdfast.engine.operations import ClaimJobs
from holdfast.stores.postgres.plan import Commit, Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL, record
from holdfast.stores.postgres.verbs.lane_statements import LANES, Outbox, Read
from holdfast.stores.sql.lane_pass import choose_jobs, counted_jobs, own_lane
from holdfast.stores.sql.plan import Statement

_CLAIM_CHOSEN = SQL["claim_chosen"]
_CLAIM = SQL["claim"]


def claim_with_lanes(context: PlanContext, op: ClaimJobs, parameters: Mapping[str, Any]) -> Plan[list[Record]]:
    """Claim plain jobs and jobs of ready tracks, until the limit is reached or nothing is left to claim.

    Each pass is one transaction. `parameters` are those of the statement `claim`.
    """
    types: list[str] = parameters["types"]
    claimed: list[Record] = []
    idle: set[str] = set()
    context.scan_starts.took_lanes = None
    while (limit := op.limit - len(claimed)) > 0:
        read = yield from LANES.read(context, types, limit)
        found = read.found
        context.hints.due.update(read.admitted)
        newly_idle = found.idle - idle
        idle |= newly_idle
        limit = 0 if newly_idle else limit
        plain = [priority for priority, number in read.plain for _ in range(min(number, limit))]
        choice = choose_jobs(found, plain, limit=limit, now=context.now, lanes_next=context.scan_starts.lanes_next)
        context.scan_starts.lanes_next = choice.lanes_next
        if choice.taken:
            context.scan_starts.took_lanes = types
        jobs = yield from _write(context, read, parameters)
        claimed += jobs
        if not (jobs or choice.parked or found.changed or read.admitted or newly_idle):
            break
    claimed.sort(key=lambda job: -job.priority)
    return claimed


def _write(context: PlanContext, read: Read, parameters: Mapping[str, Any]) -> Plan[list[Record]]:
    """Claim the chosen jobs, save what this means for lanes and tracks, and commit."""
    outbox, found, choice = Outbox(), read.found, read.found.choice
    if choice.taken:
        given = {
            "seqs": [job.seq for _, job in choice.taken],
            "lanes": [own_lane(found, track) for track, _ in choice.taken],
            "counted": counted_jobs(found),
            "now": context.now,
        }
        terms = {name: parameters[name] for name in ("types", "leases", "limits", "worker", "token")}
        outbox.queue.append(Statement(_CLAIM_CHOSEN, {**terms, **given}))
    if choice.plain:
        given = {"limit": choice.plain, "ahead": 0, "alone": False, "now": context.now}
        outbox.queue.append(Statement(_CLAIM, {**parameters, **given}))
    yield from translate(LANES.save_read(context, read), outbox.add)
    jobs: list[Record] = []
    if context.listening and choice.taken:
        yield from outbox.send()
        jobs = _chosen(outbox)
        for job in jobs:
            context.record("claimed", job.id, job.chain_id, job.type, job.attempt, job.worker)
        yield from context.write_events()
    outbox.queue.append(Commit())
    yield from outbox.send()
    if choice.taken:
        jobs = _chosen(outbox)
    if choice.plain:
        plain = [record(row) for row in outbox.results[1 if choice.taken else 0] if row[0] is not None]
        jobs += sorted(plain, key=lambda job: (-job.priority, job.scheduled_at, job.seq))
    return jobs


def _chosen(outbox: Outbox) -> list[Record]:
    jobs = [record(row) for row in outbox.results[0]]
    jobs.sort(key=lambda job: job.seq)
    return jobs
