"""Chains: read whole, and what their end means for the jobs that wait for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.core import failure
from holdfast.core.lifecycle import NewJob
from holdfast.core.record import ChainRecord, Record
from holdfast.errors import ChainNotFound
from holdfast.stores.sql.plan import Many, Plan, Statement, Turn
from holdfast.stores.sqlite.rows import SQL, WIDTH, as_json, record

_CHAINS = SQL["chains"]
_RECORDS = SQL["records"]
_DEPENDENTS = SQL["dependents"]
_UNBLOCK = SQL["unblock"]
_BROKEN = SQL["broken_dependents"]
_FAIL = SQL["fail_blocked"]
_INSERT_ATTEMPT = SQL["insert_attempt"]


def read(ids: Iterable[str]) -> Plan[dict[str, ChainRecord]]:
    """The chains with these ids, as far as there are such."""
    rows = yield Statement(_CHAINS, {"ids": as_json(ids)})
    firsts = [(record(row), row[WIDTH]) for row in rows]
    longer = [last_seq for first, last_seq in firsts if last_seq != first.seq]
    lasts: dict[int, Record] = {}
    if longer:
        for row in (yield Statement(_RECORDS, {"seqs": as_json(longer)})):
            lasts[row[0]] = record(row)
    return {first.id: ChainRecord(first, lasts.get(last_seq, first)) for first, last_seq in firsts}


def need(ids: Sequence[str]) -> Plan[list[ChainRecord]]:
    """The chains with these ids, in order. The first that is missing raises ChainNotFound."""
    found = yield from read(ids)
    for chain_id in ids:
        if chain_id not in found:
            raise ChainNotFound(chain_id)
    return [found[chain_id] for chain_id in ids]


def completed(turn: Turn, chain_id: str) -> Plan[list[tuple[str, str]]]:
    """Count the chain off for every job that waits for it; answers those that wait no longer."""
    left: dict[int, int] = {}
    changes: list[dict[str, object]] = []
    unblocked: list[tuple[str, str]] = []
    for row in (yield Statement(_DEPENDENTS, {"chain_id": chain_id})):
        seq, id, type, dependent_chain, status, open_blockers, scheduled_at, attempt, worker = row
        left[seq] = left.setdefault(seq, open_blockers) - 1
        if left[seq] == 0 and status == "blocked":
            status, scheduled_at = "pending", max(scheduled_at, turn.now)
            unblocked.append((id, type))
            turn.hints.due.add(type)
            turn.record("unblocked", id, dependent_chain, type, attempt, worker)
        changes.append({"seq": seq, "status": status, "open_blockers": left[seq], "scheduled_at": scheduled_at})
    if changes:
        yield Many(_UNBLOCK, changes)
    return unblocked


def broken(turn: Turn, chain_id: str) -> Plan[None]:
    """A chain failed or was cancelled: fail the blocked jobs that asked for it, and so on from them."""
    chains = [chain_id]
    while chains:
        chain_id = chains.pop()
        rows = yield Statement(_BROKEN, {"chain_id": chain_id})
        if rows:
            yield Many(_FAIL, [{"id": id, "error": _broken(chain_id), "now": turn.now} for _, id, *_ in rows])
        for _, id, type, dependent_chain, attempt, worker in rows:
            turn.hints.finished.add(dependent_chain)
            turn.record("failed", id, dependent_chain, type, attempt, worker)
            chains.append(dependent_chain)


def fail_with(turn: Turn, job: NewJob, chain_id: str) -> Plan[None]:
    """Fail a new job because a chain it waits for did not complete."""
    yield Statement(_FAIL, {"id": job.id, "error": _broken(chain_id), "now": turn.now})
    turn.hints.finished.add(job.chain_id)
    turn.record("failed", job.id, job.chain_id, job.type, 0)


def _broken(chain_id: str) -> bytes:
    return failure.write("BlockerFailed", f"chain {chain_id}, which this job waited for, did not complete")


def end_attempt(turn: Turn, job: Record, outcome: str, error: bytes | None, next_at: int | None = None) -> Statement:
    """Keep what the job's row will forget: an attempt that did not complete it."""
    return past_attempt(turn, job.id, job.attempt, job.worker, job.started_at, outcome, error, next_at)


def past_attempt(
    turn: Turn,
    job_id: str,
    number: int,
    worker: str | None,
    started_at: int | None,
    outcome: str,
    error: bytes | None,
    next_at: int | None,
) -> Statement:
    return Statement(
        _INSERT_ATTEMPT,
        {
            "job_id": job_id,
            "number": number,
            "worker": worker,
            "started_at": started_at,
            "now": turn.now,
            "outcome": outcome,
            "error": error,
            "next_at": next_at,
        },
    )
