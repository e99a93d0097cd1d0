"""The records of the jobs of a claim, as the claim leaves them.

Most jobs are claimed for the first time, and most columns of such a job are empty or known. Only the others are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.core.record import Record, Status
from holdfast.engine.operations import ClaimedJobs, ClaimJobs
from holdfast.stores.sql.plan import Plan, PlanContext, Row, Statement
from holdfast.stores.sqlite.rows import FIELDS, SQL, as_json

_FRESH = SQL["claim_fresh"]
_RECORDS = SQL["records"]

_ID = FIELDS.index("id")
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


def claimed_records(
    context: PlanContext, operation: ClaimJobs, jobs: Sequence[tuple[str, int]], read: Mapping[int, Row]
) -> Plan[ClaimedJobs]:
    """The records of these jobs, given by type and seq, in this order. `read`: rows that were read before."""
    terms = {terms.type: (terms.max_attempts, context.now + terms.lease) for terms in operation.types}
    types = {seq: type for type, seq in jobs}
    rows = {seq: read[seq] for seq in types if seq in read} if read else {}
    records, unread = yield from _fresh(context, operation, types, [seq for seq in types if seq not in rows], terms)
    new = [job.id for job in records.values()]
    if unread:
        rows.update((row[0], row) for row in (yield Statement(_RECORDS, {"seqs": as_json(unread)})))
    for seq, row in rows.items():
        records[seq] = _claimed(context, operation, row, *terms[types[seq]])
        if row[_STARTED_AT] is None:
            new.append(row[_ID])
    return ClaimedJobs([records[seq] for seq in types], new if operation.finds_new else ())


def _fresh(
    context: PlanContext,
    operation: ClaimJobs,
    types: Mapping[int, str],
    seqs: Sequence[int],
    terms: Mapping[str, tuple[int, int]],
) -> Plan[tuple[dict[int, Record], list[int]]]:
    """The records of those jobs that have never run, and the seqs of the others."""
    records: dict[int, Record] = {}
    others: list[int] = []
    rows = (yield Statement(_FRESH, {"seqs": as_json(seqs)})) if seqs else []
    worker, token, now, running = operation.worker, operation.token, context.now, Status.RUNNING
    for (
        seq, id, chain_id, index, priority, max_attempts, input, key, created_at, scheduled_at, timeout, keep, details,
        dedup_for, other,
    ) in rows:  # fmt: skip
        if other:
            others.append(seq)
            continue
        most, leased_until = terms[type := types[seq]]
        records[seq] = Record(
            seq, id, type, id if chain_id is None else chain_id, index, running, priority, 1,
            most if max_attempts is None else max_attempts, input, None, None, key, worker, token, leased_until, now,
            None, None, created_at, scheduled_at, now, None, timeout, keep, details, 0, 0, "wait", None, None,
            dedup_for,
        )  # fmt: skip
    return records, others


def _claimed(context: PlanContext, operation: ClaimJobs, row: Row, max_attempts: int, leased_until: int) -> Record:
    """The record after the claim. Reading it again would take as long as the claim itself."""
    fields = list(row)
    fields[_STATUS] = Status.RUNNING
    fields[_ATTEMPT] += 1
    if fields[_MAX_ATTEMPTS] is None:
        fields[_MAX_ATTEMPTS] = max_attempts
    fields[_WORKER], fields[_TOKEN], fields[_LEASED_UNTIL] = operation.worker, operation.token, leased_until
    fields[_RENEWED_AT] = fields[_STARTED_AT] = context.now
    fields[_PROGRESS] = fields[_PROGRESS_NOTE] = None
    return Record(*fields)
