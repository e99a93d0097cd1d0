"""Claim: assign due jobs to a worker, under a token and a lease."""

from __future__ import annotations

from holdfast.core.record import Record, Status
from holdfast.engine.operations import ClaimJobs
from holdfast.stores.sql.plan import Execution, Plan, Row, Statement
from holdfast.stores.sqlite.rows import FIELDS, SQL, as_json, record

_HEADS = SQL["claim_heads"]
_NEXT_HEAD = SQL["claim_next_head"]
_DUE = SQL["claim_due"]
_RECORDS = SQL["records"]
_CLAIM = SQL["claim"]
_CLAIMED_BEFORE = SQL["claimed_before"]

_STATUS = FIELDS.index("status")
_ATTEMPT = FIELDS.index("attempt")
_MAX_ATTEMPTS = FIELDS.index("max_attempts")
_WORKER = FIELDS.index("worker")
_TOKEN = FIELDS.index("token")
_LEASED_UNTIL = FIELDS.index("leased_until")
_RENEWED_AT = FIELDS.index("renewed_at")
_STARTED_AT = FIELDS.index("started_at")
_PROGRESS = FIELDS.index("progress")
_PROGRESS_NOTE = FIELDS.index("progress_note")


def claim(execution: Execution, operation: ClaimJobs) -> Plan[list[Record]]:
    if operation.again:
        types = as_json(terms.type for terms in operation.types)
        if claimed_before := (yield Statement(_CLAIMED_BEFORE, {"types": types, "token": operation.token})):
            return [record(row) for row in claimed_before]
    due = yield from _due(execution, operation)
    if not due:
        return []
    terms = {terms.type: terms for terms in operation.types}
    by_type: dict[str, list[int]] = {}
    for type, seq in due:
        by_type.setdefault(type, []).append(seq)
    seqs = as_json([seq for _, seq in due])
    rows = {row[0]: row for row in (yield Statement(_RECORDS, {"seqs": seqs}))}
    for type, type_seqs in by_type.items():
        yield Statement(
            _CLAIM,
            {
                "seqs": as_json(type_seqs),
                "max_attempts": terms[type].max_attempts,
                "worker": operation.worker,
                "token": operation.token,
                "leased_until": execution.now + terms[type].lease,
                "now": execution.now,
            },
        )
    claimed = [
        _claimed(execution, operation, rows[seq], terms[type].max_attempts, terms[type].lease) for type, seq in due
    ]
    for job in claimed:
        execution.record("claimed", job.id, job.chain_id, job.type, job.attempt, job.worker)
    return claimed


def _due(execution: Execution, operation: ClaimJobs) -> Plan[list[tuple[str, int]]]:
    """Type and seq of the due jobs. Highest priority first; within a priority the earliest of all types first."""
    due: list[tuple[str, int]] = []
    heads: dict[str, tuple[int, int]] = {}
    if operation.limit > 0:
        rows = yield Statement(_HEADS, {"types": as_json({terms.type for terms in operation.types})})
        heads = {type: (priority, scheduled_at) for type, priority, scheduled_at in rows}
    while heads and len(due) < operation.limit:
        highest = max(priority for priority, _ in heads.values())
        level: list[tuple[int, int, str]] = []
        left = operation.limit - len(due)
        for type in [type for type, (priority, _) in heads.items() if priority == highest]:
            if heads[type][1] <= execution.now:
                parameters = {"type": type, "priority": highest, "now": execution.now, "limit": left}
                rows = yield Statement(_DUE, parameters)
                level += [(scheduled_at, seq, type) for scheduled_at, seq in rows]
        level.sort()
        due += [(type, seq) for _, seq, type in level[:left]]
        if len(due) < operation.limit:
            for type in [type for type, (priority, _) in heads.items() if priority == highest]:
                rows = yield Statement(_NEXT_HEAD, {"type": type, "priority": highest})
                if rows:
                    [heads[type]] = rows
                else:
                    del heads[type]
    return due


def _claimed(execution: Execution, operation: ClaimJobs, row: Row, max_attempts: int, lease: int) -> Record:
    """The record after the claim. Reading it again would take as long as the claim itself."""
    fields = list(row)
    fields[_STATUS] = Status.RUNNING
    fields[_ATTEMPT] += 1
    if fields[_MAX_ATTEMPTS] is None:
        fields[_MAX_ATTEMPTS] = max_attempts
    fields[_WORKER], fields[_TOKEN], fields[_LEASED_UNTIL] = operation.worker, operation.token, execution.now + lease
    fields[_RENEWED_AT] = fields[_STARTED_AT] = execution.now
    fields[_PROGRESS] = fields[_PROGRESS_NOTE] = None
    return Record(*fields)
