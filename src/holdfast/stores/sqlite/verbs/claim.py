"""Claim, renew, report progress, reap: how a worker holds jobs, and how they are taken back."""

from __future__ import annotations

from holdfast.core import lost_claims
from holdfast.core.lost_claims import LostReason, lost_reason
from holdfast.core.record import Claim, Record, Status
from holdfast.engine.operations import ClaimJobs, Guard, Reap, Reaped, Renew, ReportProgress
from holdfast.errors import ClaimLost
from holdfast.stores.sql.plan import Many, Plan, Row, Statement, Turn
from holdfast.stores.sqlite.rows import FIELDS, SQL, as_json, record
from holdfast.stores.sqlite.verbs import chains

_HEADS = SQL["claim_heads"]
_NEXT_HEAD = SQL["claim_next_head"]
_DUE = SQL["claim_due"]
_RECORDS = SQL["records"]
_CLAIM = SQL["claim"]
_CLAIMED_BEFORE = SQL["claimed_before"]
_CLAIMS = SQL["claims"]
_RENEW = SQL["renew"]
_GET_JOBS = SQL["get_jobs"]
_PROGRESS = SQL["progress"]
_EXPIRED = SQL["reap_expired"]
_REAP_PENDING = SQL["reap_pending"]
_REAP_FAILED = SQL["reap_failed"]

_NOT_FOUND = (None, None, None)
"""In place of a row of `claims`: the job does not exist."""

_STATUS = FIELDS.index("status")
_ATTEMPT = FIELDS.index("attempt")
_MAX_ATTEMPTS = FIELDS.index("max_attempts")
_WORKER = FIELDS.index("worker")
_TOKEN = FIELDS.index("token")
_LEASED_UNTIL = FIELDS.index("leased_until")
_RENEWED_AT = FIELDS.index("renewed_at")
_STARTED_AT = FIELDS.index("started_at")
_PROGRESS_AT = FIELDS.index("progress")
_PROGRESS_NOTE = FIELDS.index("progress_note")


def claim(turn: Turn, op: ClaimJobs) -> Plan[list[Record]]:
    if op.again:
        types = as_json(terms.type for terms in op.types)
        if taken := (yield Statement(_CLAIMED_BEFORE, {"types": types, "token": op.token})):
            return [record(row) for row in taken]
    due = yield from _due(turn, op)
    if not due:
        return []
    terms = {terms.type: terms for terms in op.types}
    by_type: dict[str, list[int]] = {}
    for type, seq in due:
        by_type.setdefault(type, []).append(seq)
    seqs = as_json([seq for _, seq in due])
    rows = {row[0]: row for row in (yield Statement(_RECORDS, {"seqs": seqs}))}
    for type, held in by_type.items():
        yield Statement(
            _CLAIM,
            {
                "seqs": as_json(held),
                "max_attempts": terms[type].max_attempts,
                "worker": op.worker,
                "token": op.token,
                "leased_until": turn.now + terms[type].lease,
                "now": turn.now,
            },
        )
    claimed = [_claimed(turn, op, rows[seq], terms[type].max_attempts, terms[type].lease) for type, seq in due]
    for job in claimed:
        turn.record("claimed", job.id, job.chain_id, job.type, job.attempt, job.worker)
    return claimed


def renew(turn: Turn, op: Renew) -> Plan[dict[Claim, LostReason]]:
    rows = yield Statement(_CLAIMS, {"ids": as_json(held.job_id for held, _ in op.claims)})
    found = {row[0]: row for row in rows}
    answer: dict[Claim, LostReason] = {}
    renewed: list[dict[str, object]] = []
    for held, lease in op.claims:
        _, status, token = found.get(held.job_id, _NOT_FOUND)
        if reason := lost_reason(status, token, held.token):
            answer[held] = reason
        else:
            until = turn.now + lease
            renewed.append({"id": held.job_id, "token": held.token, "leased_until": until, "now": turn.now})
    if renewed:
        yield Many(_RENEW, renewed)
    return answer


def guard(turn: Turn, op: Guard) -> Plan[None]:
    if reason := (yield from _lost(op.claim)):
        raise ClaimLost(op.claim.job_id, reason)


def progress(turn: Turn, op: ReportProgress) -> Plan[LostReason | None]:
    reason = yield from _lost(op.claim)
    if reason is None:
        job_id, token = op.claim
        yield Statement(_PROGRESS, {"id": job_id, "token": token, "fraction": op.fraction, "note": op.note})
        if turn.listening:
            [job] = [record(row) for row in (yield Statement(_GET_JOBS, {"ids": as_json([job_id])}))]
            turn.record("progressed", job.id, job.chain_id, job.type, job.attempt, job.worker)
    return reason


def reap(turn: Turn, op: Reap) -> Plan[list[Reaped]]:
    held = set(op.held)
    expired: list[Record] = []
    for type in dict.fromkeys(op.types):
        # As many more as could be left out again.
        limit = op.limit + len(held)
        rows = yield Statement(_EXPIRED, {"type": type, "now": turn.now, "limit": limit})
        expired += [job for job in map(record, rows) if job.claim not in held]
    expired.sort(key=lambda job: (job.leased_until or 0, job.seq))
    reaped: list[Reaped] = []
    for job in expired[: op.limit]:
        taken = yield from _take_back(turn, job)
        reaped.append(taken)
    return reaped


def _due(turn: Turn, op: ClaimJobs) -> Plan[list[tuple[str, int]]]:
    """Type and seq of the due jobs, best first: priority by priority, all types together."""
    due: list[tuple[str, int]] = []
    heads: dict[str, tuple[int, int]] = {}
    if op.limit > 0:
        rows = yield Statement(_HEADS, {"types": as_json({terms.type for terms in op.types})})
        heads = {type: (priority, scheduled_at) for type, priority, scheduled_at in rows}
    while heads and len(due) < op.limit:
        highest = max(priority for priority, _ in heads.values())
        level: list[tuple[int, int, str]] = []
        left = op.limit - len(due)
        for type in [type for type, (priority, _) in heads.items() if priority == highest]:
            if heads[type][1] <= turn.now:
                parameters = {"type": type, "priority": highest, "now": turn.now, "limit": left}
                rows = yield Statement(_DUE, parameters)
                level += [(scheduled_at, seq, type) for scheduled_at, seq in rows]
        level.sort()
        due += [(type, seq) for _, seq, type in level[:left]]
        if len(due) < op.limit:
            for type in [type for type, (priority, _) in heads.items() if priority == highest]:
                rows = yield Statement(_NEXT_HEAD, {"type": type, "priority": highest})
                if rows:
                    [heads[type]] = rows
                else:
                    del heads[type]
    return due


def _claimed(turn: Turn, op: ClaimJobs, row: Row, max_attempts: int, lease: int) -> Record:
    """The record as the claim leaves it; reading it back would cost as much as the claim."""
    fields = list(row)
    fields[_STATUS] = Status.RUNNING
    fields[_ATTEMPT] += 1
    if fields[_MAX_ATTEMPTS] is None:
        fields[_MAX_ATTEMPTS] = max_attempts
    fields[_WORKER], fields[_TOKEN], fields[_LEASED_UNTIL] = op.worker, op.token, turn.now + lease
    fields[_RENEWED_AT] = fields[_STARTED_AT] = turn.now
    fields[_PROGRESS_AT] = fields[_PROGRESS_NOTE] = None
    return Record(*fields)


def _lost(held: Claim) -> Plan[LostReason | None]:
    rows = yield Statement(_CLAIMS, {"ids": as_json([held.job_id])})
    [(_, status, token)] = rows or [_NOT_FOUND]
    return lost_reason(status, token, held.token)


def _take_back(turn: Turn, job: Record) -> Plan[Reaped]:
    reaped = lost_claims.reap(job, turn.now)
    turn.hints.lost.add(job.id)
    parameters = {"seq": job.seq, "token": job.token, "error": reaped.error, "now": turn.now}
    if reaped.status is Status.PENDING:
        yield chains.end_attempt(turn, job, "lost", reaped.error, turn.now)
        yield Statement(_REAP_PENDING, parameters)
        turn.hints.due.add(job.type)
        turn.record("reaped", job.id, job.chain_id, job.type, job.attempt)
    else:
        yield chains.end_attempt(turn, job, "lost", reaped.error)
        yield Statement(_REAP_FAILED, parameters)
        turn.hints.finished.add(job.chain_id)
        turn.record("failed", job.id, job.chain_id, job.type, job.attempt)
        yield from chains.broken(turn, job.chain_id)
    return Reaped(reaped, job.worker)
