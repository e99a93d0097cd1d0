"""Cancel, retry, run now, pause, keep: what an operator does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from holdfast.core.clock import Micros
from holdfast.core.record import FINISHED, ChainRecord, Record
from holdfast.engine.operations import Cancel, Keep, Pause, Resume, RetryJobs, RunNow
from holdfast.errors import DependencyCycle, JobNotFound, NotPending
from holdfast.stores.postgres.execution import Turn
from holdfast.stores.postgres.rows import SQL, record
from holdfast.stores.postgres.verbs import chains, dependencies, locks
from holdfast.stores.sql.plan import Plan, Statement

_CANCEL = SQL["cancel"]
_FIND = SQL["find_jobs"]
_RECORDS = SQL["records"]
_OPEN_BLOCKERS = SQL["retry_open_blockers"]
_KEYS = SQL["retry_keys"]
_LOCK_KEYS = SQL["lock_keys"]
_FIND_KEYS = SQL["find_keys"]
_RETRY = SQL["retry"]
_AWAIT = SQL["await"]
_RUN_NOW = SQL["run_now"]
_PAUSE = SQL["pause"]
_RESUME = SQL["resume"]
_KEEP = SQL["keep"]
_EXPIRED = SQL["keep_expired"]


class _Held(NamedTuple):
    """A job under its row's lock."""

    seq: int
    id: str
    chain_id: str
    type: str
    status: str
    attempt: int
    worker: str | None
    open_blockers: int
    started_at: int | None


def cancel(turn: Turn, op: Cancel) -> Plan[list[ChainRecord]]:
    yield from turn.begin()
    tails = yield from chains.hold_all(turn, op.chain_ids, endings=["failing"])
    spared = {*FINISHED, "running"} if op.spare_running else FINISHED
    ended = [tail for chain_id in dict.fromkeys(op.chain_ids) if (tail := tails[chain_id]).status not in spared]
    if ended:
        seqs = [tail.seq for tail in ended]
        for row in (yield Statement(_CANCEL, {"seqs": seqs, "reason": op.reason, "now": turn.now})):
            turn.record("cancelled", *row)
        turn.hints.lost.update(tail.id for tail in ended if tail.status == "running")
        turn.hints.finished.update(tail.chain_id for tail in ended)
        yield from chains.broken(turn, [tail.chain_id for tail in ended if tail.awaited])
        yield from turn.recorded()
    return (yield from chains.need(op.chain_ids))


def retry(turn: Turn, op: RetryJobs) -> Plan[list[Record]]:
    yield from turn.begin()
    keyed = yield from _keyed(op.job_ids)
    keys = (lambda: _hold_keys(turn, keyed)) if keyed else None
    jobs, cycles = yield from _hold(
        turn, op.job_ids, ("failed", "cancelled"), wanted="failed or cancelled", blockers=True, keys=keys
    )
    dependencies = [job.id for job in jobs.values() if job.open_blockers]
    counted: dict[str, int] = dict((yield Statement(_OPEN_BLOCKERS, {"ids": dependencies}))) if dependencies else {}
    for job in jobs.values():
        if job.open_blockers > counted.get(job.id, 0):
            raise NotPending.blocker_deleted(job.id, job.status)
    yield from _check_keys(turn, op.job_ids, jobs, keyed)
    for cycle in (cycles[job_id] for job_id in op.job_ids if job_id in cycles):
        raise cycle
    yield Statement(_RETRY, {"seqs": [job.seq for job in jobs.values()], "now": turn.now})
    for job in jobs.values():
        turn.record("retried", job.id, job.chain_id, job.type, 0, job.worker)
        if not job.open_blockers:
            turn.hints.due.add(job.type)
    return (yield from _ended(turn, op.job_ids, jobs))


def _keyed(ids: Sequence[str]) -> Plan[dict[str, tuple[str, str]]]:
    """The type and key of each of the jobs' chains that has one, by chain."""
    return {chain_id: (type, key) for chain_id, type, key in (yield Statement(_KEYS, {"ids": list(ids)}))}


def _hold_keys(turn: Turn, keyed: dict[str, tuple[str, str]]) -> Plan[None]:
    """Hold keys like those who start with them."""
    names = sorted(set(keyed.values()))
    types, keys = [type for type, _ in names], [key for _, key in names]
    yield Statement(_LOCK_KEYS, {"types": types, "keys": keys, "now": turn.now})


def _check_keys(
    turn: Turn, ids: Sequence[str], jobs: dict[str, _Held], keyed: dict[str, tuple[str, str]]
) -> Plan[None]:
    """A key has one live chain at a time, also when an old one begins anew."""
    live: dict[tuple[str, str], str] = {}
    names = sorted(set(keyed.values()))
    if names:
        count = len(names)
        types, keys = [type for type, _ in names], [key for _, key in names]
        scope = {"sinces": [None] * count, "scopes": ["incomplete"] * count, "excludes": [None] * count}
        rows = yield Statement(_FIND_KEYS, {"now": turn.now, "types": types, "keys": keys, **scope})
        live = {names[place - 1]: chain_id for place, chain_id in rows}
    for job_id in ids:
        job = jobs[job_id]
        if job.chain_id in keyed:
            holder = live.setdefault(keyed[job.chain_id], job.chain_id)
            if holder != job.chain_id:
                raise NotPending.key_taken(job.id, job.status, holder)


def run_now(turn: Turn, op: RunNow, *, since: Micros | None = None) -> Plan[list[Record]]:
    """With `since`, the time of a try whose answer was lost, a job that began to run after it has been hurried."""
    yield from turn.begin()
    jobs, _ = yield from _hold(turn, op.job_ids, ("pending",), wanted="pending", blockers=False, since=since)
    pending = [job for job in jobs.values() if job.status == "pending"]
    yield Statement(_RUN_NOW, {"seqs": [job.seq for job in pending], "now": turn.now})
    for job in pending:
        turn.hints.due.add(job.type)
        turn.record("hurried", job.id, job.chain_id, job.type, job.attempt, job.worker)
    turn.marks.forget()
    return (yield from _ended(turn, op.job_ids, jobs))


def pause(turn: Turn, op: Pause) -> Plan[None]:
    yield Statement(_PAUSE, {"types": list(op.types)})


def resume(turn: Turn, op: Resume) -> Plan[None]:
    yield Statement(_RESUME, {"types": list(op.types)})
    turn.marks.forget()
    turn.hints.due.update(op.types)


def keep(turn: Turn, op: Keep) -> Plan[list[bool | None]]:
    yield from turn.begin()
    tails = yield from chains.hold(turn, list(dict.fromkeys(op.chain_ids)))
    seqs = [tail.seq for tail in tails.values()]
    expired = {seq for (seq,) in (yield Statement(_EXPIRED, {"seqs": seqs, "now": turn.now}))}
    kept = {seq for (seq,) in (yield Statement(_KEEP, {"seqs": seqs, "keep": op.keep, "now": turn.now}))}
    answers: list[bool | None] = []
    for chain_id in op.chain_ids:
        tail = tails.get(chain_id)
        gone = tail is None or tail.seq in expired
        answers.append(None if gone else tail is not None and tail.seq in kept)
        if tail is not None and tail.seq in kept and op.keep is not None and op.keep <= 0:
            # Named again, it is past its keep time by now.
            expired.add(tail.seq)
    return answers


def _hold(
    turn: Turn,
    ids: Sequence[str],
    statuses: tuple[str, ...],
    *,
    wanted: str,
    blockers: bool,
    keys: Callable[[], Plan[None]] | None = None,
    since: Micros | None = None,
) -> Plan[tuple[dict[str, _Held], dict[str, DependencyCycle]]]:
    """The jobs with these ids, locked, and the cycles that they would close if they were blocked again.

    All must exist, and stand in one of these statuses. With their `blockers`, no transaction deletes those meanwhile,
    nor later without seeing that these jobs wait for them. Those that began to run `since` may stand in any.
    """
    cycles: dict[str, DependencyCycle] = {}

    def look() -> Plan[tuple[list[_Held], locks.Wanted]]:
        nonlocal cycles
        jobs = [_Held(*row) for row in (yield Statement(_FIND, {"ids": list(ids), "blockers": blockers}))]
        kept = {job.seq for job in jobs if job.id not in ids}
        waiting_again = {job.id: job.chain_id for job in jobs if job.id in ids and job.open_blockers}
        if blockers and waiting_again:
            cycles, reached = yield from dependencies.retried(waiting_again)
            kept |= reached
        return jobs, locks.Wanted({job.seq for job in jobs if job.id in ids}, kept)

    rows = yield from locks.hold(turn, look, keys=keys)
    if named := [job.seq for job in rows if job.id not in ids]:
        yield Statement(_AWAIT, {"seqs": named})
    found = {job.id: job for job in rows if job.id in ids}
    for job_id in ids:
        if job_id not in found:
            raise JobNotFound(job_id)
    for job_id in ids:
        job = found[job_id]
        begun = since is not None and job.started_at is not None and job.started_at >= since
        if job.status not in statuses and not begun:
            raise NotPending(job_id, job.status, wanted)
    return found, cycles


def _ended(turn: Turn, ids: Sequence[str], jobs: dict[str, _Held]) -> Plan[list[Record]]:
    """The last steps of a verb: write the events, answer the jobs as they stand now."""
    yield from turn.recorded()
    rows = yield Statement(_RECORDS, {"seqs": [job.seq for job in jobs.values()]})
    records = {row[1]: record(row) for row in rows}
    return [records[job_id] for job_id in ids]
