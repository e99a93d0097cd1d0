"""Claim, renew, guard, reap: what a worker does before it settles."""

from __future__ import annotations

import logging

from msgspec.structs import replace

from holdfast.core import lost_claims
from holdfast.core.clock import Micros
from holdfast.core.lifecycle import has_attempts_left
from holdfast.core.lost_claims import LostReason, lost_reason
from holdfast.core.record import Claim, Record, Status
from holdfast.engine.operations import ClaimJobs, Guard, Reap, Reaped, Renew, ReportProgress
from holdfast.errors import ClaimLost
from holdfast.stores.postgres.execution import COMMIT, Turn
from holdfast.stores.postgres.rows import SQL, WIDTH, record
from holdfast.stores.postgres.verbs import chains, locks
from holdfast.stores.sql.plan import Plan, Row, Statement

log = logging.getLogger("holdfast")

_CLAIM = SQL["claim"]
_CLAIM_MARKED = SQL["claim_marked"]
_CLAIMED_BEFORE = SQL["claimed_before"]
_RENEW = SQL["renew"]
_GUARD = SQL["guard"]
_GUARD_LOST = SQL["guard_lost"]
_PROGRESS = SQL["progress"]
_REAP_EXPIRED = SQL["reap_expired"]
_REAP = SQL["reap"]
_END_LOST_ATTEMPTS = SQL["end_lost_attempts"]
_RENEW_PAUSE = SQL["renew_pause"]

RENEW_ROUNDS = 20
"""How often a renewal comes back to rows that somebody is writing. A row still held after that, by a transaction that
takes its time, can be taken by nobody else meanwhile; the next renewal learns what became of it."""


def claim(turn: Turn, op: ClaimJobs) -> Plan[list[Record]]:
    terms = {terms.type: terms for terms in op.types}
    if not terms or op.limit < 1:
        return []
    if op.again:
        rows = yield Statement(_CLAIMED_BEFORE, {"types": list(terms), "token": op.token})
        if rows:
            return sorted(map(record, rows), key=_rank)
    parameters = {
        "now": turn.clock,
        "types": list(terms),
        "leases": [each.lease for each in terms.values()],
        "limits": [each.max_attempts for each in terms.values()],
        "limit": op.limit,
        "worker": op.worker,
        "token": op.token,
    }
    claimed: list[Record] = []
    if marks := turn.marks.of(terms):
        types, priorities, scheduled, seqs = (list(column) for column in zip(*marks, strict=True))
        places = {"marked": types, "priorities": priorities, "scheduled": scheduled, "seqs": seqs}
        claimed, *_ = _claimed(turn, (yield Statement(_CLAIM_MARKED, parameters | places)))
        turn.marks.advance(claimed)
        return claimed
    while len(claimed) < op.limit:
        limit = op.limit - len(claimed)
        more, several, spent, dead = _claimed(turn, (yield Statement(_CLAIM, parameters | {"limit": limit})))
        turn.marks.scanned(terms, more, spent, dead)
        claimed += more
        if not more or not several:
            # Of several levels, one may have run out under the hands of others while another has more.
            break
    return claimed


def claim_again(turn: Turn, op: ClaimJobs) -> Plan[list[Record]]:
    """A claim whose answer was lost: what it had taken, if it was written; else another try."""
    return (yield from claim(turn, replace(op, again=True)))


def renew(turn: Turn, op: Renew) -> Plan[dict[Claim, LostReason]]:
    reasons: dict[Claim, LostReason] = {}
    left = list(op.claims)
    for _ in range(RENEW_ROUNDS):
        if not left:
            break
        rows = yield Statement(
            _RENEW,
            {
                "now": turn.clock,
                "ids": [claim.job_id for claim, _ in left],
                "tokens": [claim.token for claim, _ in left],
                "leases": [lease for _, lease in left],
            },
        )
        stood = {id: (status, token, renewed) for id, status, token, renewed in rows}
        busy: list[tuple[Claim, Micros]] = []
        for claim, lease in left:
            status, token, renewed = stood.get(claim.job_id, (None, None, False))
            if reason := lost_reason(status, token, claim.token):
                reasons[claim] = reason
            elif not renewed:
                busy.append((claim, lease))
        if left := busy:
            yield Statement(_RENEW_PAUSE)
    return reasons


def guard(turn: Turn, op: Guard) -> Plan[None]:
    if (yield Statement(_GUARD, {"id": op.claim.job_id, "token": op.claim.token})):
        return
    rows = yield Statement(_GUARD_LOST, {"id": op.claim.job_id})
    status, token = rows[0] if rows else (None, None)
    raise ClaimLost(op.claim.job_id, lost_reason(status, token, op.claim.token) or "taken_by_another_worker")


def progress(turn: Turn, op: ReportProgress) -> Plan[LostReason | None]:
    rows = yield Statement(
        _PROGRESS,
        {
            "now": turn.clock,
            "id": op.claim.job_id,
            "token": op.claim.token,
            "fraction": op.fraction,
            "note": op.note,
        },
    )
    status, token, recorded = rows[0] if rows else (None, None, False)
    turn.hints.recorded |= recorded
    return lost_reason(status, token, op.claim.token)


def reap(turn: Turn, op: Reap) -> Plan[list[Reaped]]:
    yield from turn.begin()
    rows = yield Statement(
        _REAP_EXPIRED,
        {
            "now": turn.now,
            "types": list(op.types),
            "held_ids": [claim.job_id for claim in op.held],
            "held_tokens": [claim.token for claim in op.held],
            "limit": op.limit,
        },
    )
    passed_over: list[int] = rows[0][-1]
    reaped = yield from _reap(turn, [row for row in rows if row[0] is not None])
    if passed_over:
        yield COMMIT
        yield from _end_lost_attempts(turn, passed_over)
    return reaped


def _reap(turn: Turn, expired: list[Row]) -> Plan[list[Reaped]]:
    rows = yield from _unhindered(expired)
    if not rows:
        return []
    reaped = [_take_back(turn, record(row)) for row in rows]
    yield Statement(
        _REAP,
        {
            "now": turn.now,
            "seqs": [each.record.seq for each in reaped],
            "statuses": [each.record.status.value for each in reaped],
            "errors": [each.record.error for each in reaped],
        },
    )
    over = [each.record for each in reaped if each.record.status is Status.FAILED]
    awaited = {row[1] for row in rows if row[WIDTH]}
    yield from chains.broken(turn, [job.chain_id for job in over if job.id in awaited])
    yield from turn.recorded()
    return reaped


def _end_lost_attempts(turn: Turn, seqs: list[int]) -> Plan[None]:
    """Terminate the sessions of workers that are gone and still hold these expired jobs.

    The next reap takes the jobs back: a session that is terminated holds its locks for another moment.
    """
    for job_id, pid in (yield Statement(_END_LOST_ATTEMPTS, {"seqs": seqs, "now": turn.clock})):
        log.warning("terminated session %s: its worker is gone, and its transaction held job %s", pid, job_id)


def _unhindered(rows: list[Row]) -> Plan[list[Row]]:
    """Without those that would take others along which somebody holds at the moment: they wait for the next time.

    These rows were locked in no particular order, so nobody may be waited for.
    """
    left: list[Row] = []
    for row in rows:
        job, awaited = record(row), row[WIDTH]
        if awaited and not has_attempts_left(job):
            held = yield from locks.hold_free((yield from chains.reach([job.chain_id], "failing")))
            # Looked at again: somebody may have begun to wait for one of them before it was held.
            if (yield from chains.reach([job.chain_id], "failing")) - held:
                continue
        left.append(row)
    return left


def _claimed(turn: Turn, rows: list[Row]) -> tuple[list[Record], bool, Micros, int]:
    """The jobs claimed, best first, and whether of several levels; how long it took, and over how many dead rows.

    One row comes even where nothing is due.
    """
    *_, anybody, several, spent, dead = rows[0]
    claimed = [record(row) for row in rows if row[0] is not None]
    turn.hints.recorded |= anybody and bool(claimed)
    if len(claimed) > 1:
        claimed.sort(key=_rank)
    return claimed, several, spent, dead


def _rank(job: Record) -> tuple[int, int, int]:
    return (-job.priority, job.scheduled_at, job.seq)


def _take_back(turn: Turn, job: Record) -> Reaped:
    reaped = lost_claims.reap(job, turn.now)
    turn.hints.lost.add(job.id)
    if reaped.status is Status.PENDING:
        turn.hints.due.add(job.type)
        turn.record("reaped", job.id, job.chain_id, job.type, job.attempt)
    else:
        turn.hints.finished.add(job.chain_id)
        turn.record("failed", job.id, job.chain_id, job.type, job.attempt)
    return Reaped(reaped, job.worker)
