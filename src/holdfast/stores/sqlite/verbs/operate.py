"""Cancel, retry, run now, pause, keep: what an operator does."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.clock import Micros
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine.operations import Cancel, Keep, Pause, Resume, RetryJobs, RunNow
from holdfast.errors import JobNotFound, NotPending
from holdfast.stores.sql.plan import Many, Plan, Statement, Turn
from holdfast.stores.sqlite.rows import SQL, as_json, record
from holdfast.stores.sqlite.verbs import chains, dependencies
from holdfast.stores.sqlite.verbs.start import EARLIEST

_CANCEL = SQL["cancel"]
_KEPT = SQL["keep_current"]
_KEEP = SQL["keep"]
_FIND_KEY = SQL["find_key"]
_RETRY = SQL["retry"]
_OPEN_BLOCKERS = SQL["retry_open_blockers"]
_RUN_NOW = SQL["run_now"]
_GET_JOBS = SQL["get_jobs"]
_PAUSE = SQL["pause"]
_RESUME = SQL["resume"]


def cancel(turn: Turn, op: Cancel) -> Plan[list[ChainRecord]]:
    current = yield from chains.need(list(dict.fromkeys(op.chain_ids)))
    jobs = [chain.last for chain in current if not chain.last.status.finished]
    if op.spare_running:
        jobs = [job for job in jobs if job.status is not Status.RUNNING]
    for job in jobs:
        if job.status is Status.RUNNING:
            yield chains.end_attempt(turn, job, "cancelled", op.reason)
            turn.hints.lost.add(job.id)
        yield Statement(_CANCEL, {"seq": job.seq, "reason": op.reason, "now": turn.now})
        turn.hints.finished.add(job.chain_id)
        turn.record("cancelled", job.id, job.chain_id, job.type, job.attempt)
    for job in jobs:  # only now, so that chains named together are all cancelled and none fails with another
        yield from chains.broken(turn, job.chain_id)
    return (yield from chains.need(op.chain_ids))


def retry(turn: Turn, op: RetryJobs) -> Plan[list[Record]]:
    jobs = yield from _jobs(op.job_ids, (Status.FAILED, Status.CANCELLED), "failed or cancelled")
    for job in jobs:
        if job.open_blockers:
            [(open_blockers,)] = yield Statement(_OPEN_BLOCKERS, {"job_id": job.id})
            if job.open_blockers > open_blockers:
                raise NotPending.blocker_deleted(job.id, job.status)
    yield from _check_keys(turn, jobs)
    yield from dependencies.check_retried(jobs)
    for job in {job.id: job for job in jobs}.values():
        status = Status.BLOCKED if job.open_blockers else Status.PENDING
        yield Statement(_RETRY, {"seq": job.seq, "status": status.value, "now": turn.now})
        if status is Status.PENDING:
            turn.hints.due.add(job.type)
        turn.record("retried", job.id, job.chain_id, job.type, 0, job.worker)
    return (yield from _get(op.job_ids))


def _check_keys(turn: Turn, jobs: Sequence[Record]) -> Plan[None]:
    """A key has one live chain at a time, also when an old one begins anew."""
    live: dict[tuple[str, str], str] = {}
    current = yield from chains.read({job.chain_id for job in jobs})
    for job in jobs:
        first = current[job.chain_id].first
        if first.key is None:
            continue
        scope = {"since": EARLIEST, "exclude": "[]", "scope": "incomplete", "now": turn.now}
        rows = yield Statement(_FIND_KEY, {"key": first.key, "type": first.type, **scope})
        holder = live.setdefault((first.type, first.key), rows[0][0] if rows else first.id)
        if holder != first.id:
            raise NotPending.key_taken(job.id, job.status, holder)


def run_now(turn: Turn, op: RunNow) -> Plan[list[Record]]:
    jobs = yield from _jobs(op.job_ids, (Status.PENDING,), "pending")
    for job in jobs:
        yield Statement(_RUN_NOW, {"seq": job.seq, "now": turn.now})
        turn.hints.due.add(job.type)
        turn.record("hurried", job.id, job.chain_id, job.type, job.attempt, job.worker)
    return (yield from _get(op.job_ids))


def pause(turn: Turn, op: Pause) -> Plan[None]:
    yield Many(_PAUSE, [{"type": type} for type in op.types])


def resume(turn: Turn, op: Resume) -> Plan[None]:
    yield Many(_RESUME, [{"type": type} for type in op.types])
    turn.hints.due.update(op.types)


def keep(turn: Turn, op: Keep) -> Plan[list[bool | None]]:
    answers: list[bool | None] = []
    for chain_id in op.chain_ids:
        answer = yield from _keep(turn, chain_id, op.keep)
        answers.append(answer)
    return answers


def _keep(turn: Turn, chain_id: str, keep: Micros | None) -> Plan[bool | None]:
    rows = yield Statement(_KEPT, {"chain_id": chain_id})
    for seq, finished_at, expires_at in rows:
        if expires_at is not None and expires_at <= turn.now:
            return None
        if finished_at is None:
            return False
        yield Statement(_KEEP, {"seq": seq, "keep": None if keep is None else turn.now - finished_at + keep})
        return True
    return None


def _jobs(ids: Sequence[str], statuses: tuple[Status, ...], wanted: str) -> Plan[list[Record]]:
    jobs = yield from _get(ids)
    for job in jobs:
        if job.status not in statuses:
            raise NotPending(job.id, job.status, wanted)
    return jobs


def _get(ids: Sequence[str]) -> Plan[list[Record]]:
    rows = yield Statement(_GET_JOBS, {"ids": as_json(ids)})
    found = {job.id: job for job in map(record, rows)}
    for job_id in ids:
        if job_id not in found:
            raise JobNotFound(job_id)
    return [found[job_id] for job_id in ids]
