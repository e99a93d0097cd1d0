"""Start chains and add continuations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

from holdfast.core.lifecycle import NewJob, create
from holdfast.core.record import FINISHED, ChainRecord, Record, Status
from holdfast.engine.operations import Preview, Start, Started
from holdfast.errors import ChainNotFound, Conflict, HoldfastError
from holdfast.stores.sql.plan import Many, Plan, Row, Statement, Turn
from holdfast.stores.sqlite.rows import SQL, as_json
from holdfast.stores.sqlite.verbs import chains, dependencies, events

_PLACE = SQL["place"]
_FIND_IDS = SQL["find_ids"]
_FIND_KEY = SQL["find_key"]
_STATUSES = SQL["chain_statuses"]
_LAST_SEQ = SQL["last_seq"]
_INSERT = SQL["insert_job"]
_CHUNK = 40
"""Rows in one statement: a third faster than one by one, and within the 999 parameters of older libraries."""
_INSERT_CHUNK = _INSERT + f", {_INSERT.partition(' values ')[2]}" * (_CHUNK - 1)
_INSERT_BLOCKER = SQL["insert_blocker"]
_COUNT_UP = SQL["count_up"]

EARLIEST = -(1 << 63)
"""Before every creation time."""


def start(turn: Turn, op: Start) -> Plan[list[Started]]:
    """Notices by itself whether events are wanted."""
    if len(op.jobs) == 1 and op.jobs[0].key is None and not op.jobs[0].after:
        return [(yield from _start_plain(turn, op.jobs[0]))]
    yield from events.notice_listeners(turn)
    found = yield from _find(turn, op.jobs)
    yield from _check_blockers(op.jobs, found)
    return (yield from _create(turn, op.jobs, found))


def preview(turn: Turn, op: Preview) -> Plan[list[ChainRecord | None]]:
    found = yield from _find(turn, op.jobs)
    stored = yield from chains.read({chain_id for chain_id in found if chain_id is not None})
    to_be = {job.id: create(job) for job, chain_id in zip(op.jobs, found, strict=True) if chain_id is None}
    return [
        None if chain_id is None else stored.get(chain_id) or ChainRecord(to_be[chain_id], to_be[chain_id])
        for chain_id in found
    ]


def check_starts(turn: Turn, jobs: Sequence[NewJob], expected: Sequence[str]) -> Plan[HoldfastError | None]:
    """Why these starts cannot be written as their transaction was told; None if they can."""
    found = yield from _find(turn, jobs)
    for job, chain_id, reported in zip(jobs, found, expected, strict=True):
        if (chain_id or job.id) != reported:
            return Conflict(f"key {job.key!r} of {job.type!r} was started or finished by another at the same time")
    try:
        yield from _check_blockers(jobs, found)
    except ChainNotFound as error:
        return error
    return None


def check_continuation(job: NewJob, starts: Sequence[NewJob], expected: Sequence[str]) -> Plan[HoldfastError | None]:
    """Why a job cannot continue its chain beside these starts: an unknown blocker, or a cycle; None if it can."""
    if not job.after:
        return None
    known = (yield from _statuses(job.after)).keys() | set(expected)
    for chain_id in job.after:
        if chain_id not in known:
            return ChainNotFound(chain_id)
    beside: dict[str, tuple[str, ...]] = {}
    if any(start.after for start in starts):
        stored: dict[str, str] = dict((yield Statement(_FIND_IDS, {"ids": as_json(expected)})))
        beside = {start.id: start.after for start in starts if start.id in expected and start.id not in stored}
    return (yield from dependencies.cycle(job.chain_id, job.after, beside))


def add(turn: Turn, job: NewJob) -> Plan[None]:
    """Create a job, blocked where a blocker is still open."""
    if job.after:
        yield from _add_blocked(turn, job, None)
    else:
        yield from _add_one(turn, job, row(turn, job))


def add_plain(turn: Turn, jobs: Sequence[NewJob], rows: Sequence[Row]) -> Plan[None]:
    """Create jobs that wait for nothing, as these rows."""
    whole = len(rows) - len(rows) % _CHUNK
    if whole:
        yield Many(
            _INSERT_CHUNK, [tuple(chain.from_iterable(rows[at : at + _CHUNK])) for at in range(0, whole, _CHUNK)]
        )
    if whole < len(rows):
        yield Many(_INSERT, rows[whole:])
    counts = Counter(job.type for job in jobs)
    turn.hints.due.update(counts)
    for type, number in counts.items():
        yield Statement(_COUNT_UP, {"type": type, "jobs": number})
    if turn.listening:
        for job in jobs:
            turn.record("created", job.id, job.chain_id, job.type, 0)


def row(turn: Turn, job: NewJob, seq: int | None = None, open_blockers: int = 0) -> Row:
    """What is inserted for a job. Without a `seq` SQLite gives it the next."""
    now = turn.now
    due = now + job.delay if job.at is None else job.at
    return (
        seq,
        job.id,
        job.type,
        job.chain_id,
        job.index,
        "blocked" if open_blockers else "pending",
        job.priority,
        job.max_attempts,
        job.key,
        now,
        due if due > now else now,
        job.timeout,
        job.keep,
        job.trace,
        len(job.after),
        open_blockers,
        job.on_blocker_failure,
        job.input,
    )


def _start_plain(turn: Turn, job: NewJob) -> Plan[Started]:
    """One job without a key that waits for nothing, as most are: what follows for many takes twice as long."""
    [(seq, root, turn.listening)] = yield Statement(_PLACE, {"id": job.id, "now": turn.now})
    if root is not None:
        return Started((yield from chains.read({root}))[root], True)
    values = row(turn, job, seq + 1)
    yield from _add_one(turn, job, values)
    record = _record(values)
    return Started(ChainRecord(record, record), False)


def _add_one(turn: Turn, job: NewJob, values: Row) -> Plan[None]:
    yield Many(_INSERT, [values])
    yield Statement(_COUNT_UP, {"type": job.type, "jobs": 1})
    turn.hints.due.add(job.type)
    turn.record("created", job.id, job.chain_id, job.type, 0)


def _find(turn: Turn, jobs: Sequence[NewJob]) -> Plan[list[str | None]]:
    """For each job, the chain it would find: made earlier in the same batch, or in the store."""
    known: dict[str, str] = dict((yield Statement(_FIND_IDS, {"ids": as_json([job.id for job in jobs])})))
    keyed: dict[tuple[str, str], list[str]] = {}
    found: list[str | None] = []
    for job in jobs:
        match = known.get(job.id)
        if match is None and job.key is not None:
            made = keyed.setdefault((job.type, job.key), [])
            match = yield from _find_key(turn, job, made)
            if match is None:
                made.append(job.id)
        if match is None:
            known[job.id] = job.id
        found.append(match)
    return found


def _find_key(turn: Turn, job: NewJob, made: list[str]) -> Plan[str | None]:
    """The newest chain in the job's dedup scope."""
    if job.window is None or job.window > 0:
        for chain_id in reversed(made):
            if chain_id not in job.exclude:
                return chain_id
    rows = yield Statement(
        _FIND_KEY,
        {
            "key": job.key,
            "type": job.type,
            "since": EARLIEST if job.window is None else turn.now - job.window,
            "exclude": as_json(job.exclude),
            "scope": job.dedup,
            "now": turn.now,
        },
    )
    return rows[0][0] if rows else None


def _check_blockers(jobs: Sequence[NewJob], found: Sequence[str | None]) -> Plan[None]:
    named = {chain_id for job in jobs if job.after for chain_id in job.after}
    if not named:
        return
    known = set((yield from _statuses(named)))
    for job, chain_id in zip(jobs, found, strict=True):
        if chain_id is None:
            for blocker in job.after:
                if blocker not in known:
                    raise ChainNotFound(blocker)
            known.add(job.id)


def _create(turn: Turn, jobs: Sequence[NewJob], found: Sequence[str | None]) -> Plan[list[Started]]:
    [(seq,)] = yield Statement(_LAST_SEQ)
    made: dict[str, ChainRecord] = {}
    plain: list[NewJob] = []
    rows: list[Row] = []
    for job, chain_id in zip(jobs, found, strict=True):
        if chain_id is not None:
            continue
        seq += 1
        if job.after:
            if plain:
                yield from add_plain(turn, plain, rows)
                plain, rows = [], []
            yield from _add_blocked(turn, job, seq)
        else:
            plain.append(job)
            rows.append(row(turn, job, seq))
            record = _record(rows[-1])
            made[job.id] = ChainRecord(record, record)
    if plain:
        yield from add_plain(turn, plain, rows)
    # What was found, and what may have failed at once with its blockers, is read as it stands now.
    roots = [chain_id or job.id for job, chain_id in zip(jobs, found, strict=True)]
    if len(made) < len(jobs):
        made |= yield from chains.read({root for root in roots if root not in made})
    return [Started(made[root], chain_id is not None) for root, chain_id in zip(roots, found, strict=True)]


def _add_blocked(turn: Turn, job: NewJob, seq: int | None) -> Plan[None]:
    statuses = yield from _statuses(job.after)
    open_blockers = [chain_id for chain_id in job.after if statuses[chain_id] != Status.COMPLETED]
    yield Many(_INSERT, [row(turn, job, seq, len(open_blockers))])
    yield Many(_INSERT_BLOCKER, [(job.id, position, chain_id) for position, chain_id in enumerate(job.after)])
    yield Statement(_COUNT_UP, {"type": job.type, "jobs": 1})
    if not open_blockers:
        turn.hints.due.add(job.type)
    turn.record("created", job.id, job.chain_id, job.type, 0)
    broken = [chain_id for chain_id in open_blockers if statuses[chain_id] in FINISHED]
    if broken and job.on_blocker_failure == "fail":
        yield from chains.fail_with(turn, job, broken[0])
        yield from chains.broken(turn, job.chain_id)


def _statuses(chain_ids: Iterable[str]) -> Plan[dict[str, str]]:
    rows = yield Statement(_STATUSES, {"ids": as_json(chain_ids)})
    return dict(rows)


def _record(row: Row) -> Record:
    """The record that a row of a plain job is read as. By position: names would take seven times as long."""
    (seq, id, type, chain_id, index, _, priority, max_attempts, key, created_at,
     scheduled_at, timeout, keep, trace, _, _, on_blocker_failure, input) = row  # fmt: skip
    return Record(
        seq, id, type, chain_id, index, Status.PENDING, priority, 0, max_attempts, input, None, None, key,
        None, None, None, None, None, None, created_at, scheduled_at, None, None, timeout, keep, trace,
        0, 0, on_blocker_failure,
    )  # fmt: skip
