"""Start chains and add continuations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from holdfast.core.lifecycle import NewJob, create
from holdfast.core.record import FINISHED, ChainRecord, Record, Status
from holdfast.engine.operations import Preview, Start, Started
from holdfast.errors import ChainNotFound, Conflict, HoldfastError
from holdfast.stores.sql.plan import Execution, Many, Plan, Row, Statement
from holdfast.stores.sqlite.rows import FIELDS, SQL, as_json
from holdfast.stores.sqlite.verbs import blockers, chains, dependencies, events

_START_ONE = SQL["start_one"]
_FIND_IDS = SQL["find_ids"]
_FIND_KEY = SQL["find_key"]
_STATUSES = SQL["chain_statuses"]
_LAST_SEQ = SQL["last_seq"]
_INSERT = SQL["insert_job"]
_INSERT_BLOCKER = SQL["insert_blocker"]
_COUNT_UP = SQL["count_up"]

_COLUMNS = _INSERT.partition("(")[2].partition(")")[0].replace("chain_index", "index").split(", ")
"""The columns of `insert_job` as fields of a record, in the order of `row`."""

_CHUNK = 40
"""Rows in one statement. A third faster than single rows. Older libraries allow 999 parameters in a statement."""
_INSERT_CHUNK = ", ".join([_INSERT] + [f"({', '.join('?' * len(_COLUMNS))})"] * (_CHUNK - 1))

_FIELDS = {"status": "Status.PENDING", "attempt": "0"}
"""Fields of a new record that are not columns of its row. All other fields are None."""
_new_record: Callable[..., Record] = eval(  # noqa: S307 - the text consists of the names of our own columns
    f"lambda {', '.join(_COLUMNS)}: "
    f"Record({', '.join(_FIELDS.get(field, field if field in _COLUMNS else 'None') for field in FIELDS)})",
    {"Record": Record, "Status": Status},
)
"""The record of a new row without blockers. Called for every job of a bulk start.

A compiled call with positional arguments takes a third of the time of `itemgetter`, and a seventh of that of keyword
arguments. Built from the names, it needs no change for a new column.
"""

EARLIEST = -(1 << 63)
"""Earlier than every creation time."""


def start(execution: Execution, operation: Start) -> Plan[list[Started]]:
    """Create the chains that do not exist yet.

    It also reads whether a listener is registered. For one job, the same statement reads it.
    """
    if len(operation.jobs) == 1 and operation.jobs[0].key is None and not operation.jobs[0].after:
        return [(yield from _start_plain(execution, operation.jobs[0]))]
    yield from events.check_listeners(execution)
    found = yield from _find(execution, operation.jobs)
    yield from _check_blockers(operation.jobs, found)
    return (yield from _create(execution, operation.jobs, found))


def preview(execution: Execution, operation: Preview) -> Plan[list[ChainRecord | None]]:
    found = yield from _find(execution, operation.jobs)
    stored = yield from chains.read({chain_id for chain_id in found if chain_id is not None})
    to_be = {job.id: create(job) for job, chain_id in zip(operation.jobs, found, strict=True) if chain_id is None}
    return [
        None if chain_id is None else stored.get(chain_id) or ChainRecord(to_be[chain_id], to_be[chain_id])
        for chain_id in found
    ]


def check_starts(execution: Execution, jobs: Sequence[NewJob], expected: Sequence[str]) -> Plan[HoldfastError | None]:
    """Why these starts cannot be written with the ids that the transaction returned before; None if they can."""
    found = yield from _find(execution, jobs)
    for job, chain_id, reported in zip(jobs, found, expected, strict=True):
        if (chain_id or job.id) != reported:
            return Conflict(f"key {job.key!r} of {job.type!r} was started or finished by another at the same time")
    try:
        yield from _check_blockers(jobs, found)
    except ChainNotFound as error:
        return error
    return None


def check_continuation(job: NewJob, starts: Sequence[NewJob], expected: Sequence[str]) -> Plan[HoldfastError | None]:
    """Why a job cannot continue its chain: an unknown blocker or a cycle; None if it can.

    `starts` are written in the same operation, and `expected` are their chain ids.
    """
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


def add(execution: Execution, job: NewJob) -> Plan[None]:
    """Create a job. It is blocked if one of its blockers has not completed."""
    if job.after:
        yield from _add_blocked(execution, job, None)
    else:
        yield from _add_one(execution, job, row(execution, job))


def add_plain(execution: Execution, jobs: Sequence[NewJob], rows: Sequence[Row]) -> Plan[None]:
    """Create jobs without blockers from these rows."""
    whole = len(rows) - len(rows) % _CHUNK
    if whole:
        yield Many(
            _INSERT_CHUNK, [tuple(chain.from_iterable(rows[at : at + _CHUNK])) for at in range(0, whole, _CHUNK)]
        )
    if whole < len(rows):
        yield Many(_INSERT, rows[whole:])
    counts = Counter(job.type for job in jobs)
    execution.hints.due.update(counts)
    for type, number in counts.items():
        yield Statement(_COUNT_UP, {"type": type, "jobs": number})
    if execution.listening:
        for job in jobs:
            execution.record("created", job.id, job.chain_id, job.type, 0)


def row(execution: Execution, job: NewJob, seq: int | None = None, open_blockers: int = 0) -> Row:
    """The row of a new job. Without a `seq`, SQLite assigns the next one."""
    now = execution.now
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
        job.dedup_for,
        job.trace,
        len(job.after),
        open_blockers,
        job.on_blocker_failure,
        job.input,
    )


def _start_plain(execution: Execution, job: NewJob) -> Plan[Started]:
    """Start one job without key and blockers, the most frequent case. The general code takes twice as long."""
    [(seq, root, execution.listening)] = yield Statement(_START_ONE, {"id": job.id, "now": execution.now})
    if root is not None:
        return Started((yield from chains.read({root}))[root], True)
    values = row(execution, job, seq + 1)
    yield from _add_one(execution, job, values)
    record = _new_record(*values)
    return Started(ChainRecord(record, record), False)


def _add_one(execution: Execution, job: NewJob, values: Row) -> Plan[None]:
    yield Many(_INSERT, [values])
    yield Statement(_COUNT_UP, {"type": job.type, "jobs": 1})
    execution.hints.due.add(job.type)
    execution.record("created", job.id, job.chain_id, job.type, 0)


def _find(execution: Execution, jobs: Sequence[NewJob]) -> Plan[list[str | None]]:
    """For each job, the chain that already exists for it, in the store or earlier in the batch; None for a new one."""
    known: dict[str, str] = dict((yield Statement(_FIND_IDS, {"ids": as_json([job.id for job in jobs])})))
    keyed: dict[tuple[str, str], list[str]] = {}
    found: list[str | None] = []
    for job in jobs:
        match = known.get(job.id)
        if match is None and job.key is not None:
            made = keyed.setdefault((job.type, job.key), [])
            match = yield from _find_key(execution, job, made)
            if match is None:
                made.append(job.id)
        if match is None:
            known[job.id] = job.id
        found.append(match)
    return found


def _find_key(execution: Execution, job: NewJob, made: list[str]) -> Plan[str | None]:
    """The newest chain in the dedup scope of a job. `made` are chains with the same key earlier in the batch."""
    if job.window is None or job.window > 0:
        for chain_id in reversed(made):
            if chain_id not in job.exclude:
                return chain_id
    rows = yield Statement(
        _FIND_KEY,
        {
            "key": job.key,
            "type": job.type,
            "since": EARLIEST if job.window is None else execution.now - job.window,
            "exclude": as_json(job.exclude),
            "scope": job.dedup,
            "now": execution.now,
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


def _create(execution: Execution, jobs: Sequence[NewJob], found: Sequence[str | None]) -> Plan[list[Started]]:
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
                yield from add_plain(execution, plain, rows)
                plain, rows = [], []
            yield from _add_blocked(execution, job, seq)
        else:
            plain.append(job)
            rows.append(row(execution, job, seq))
            record = _new_record(*rows[-1])
            made[job.id] = ChainRecord(record, record)
    if plain:
        yield from add_plain(execution, plain, rows)
    # Existing chains are read, and so are new ones with blockers: a failed blocker may have failed them at once.
    roots = [chain_id or job.id for job, chain_id in zip(jobs, found, strict=True)]
    if len(made) < len(jobs):
        made |= yield from chains.read({root for root in roots if root not in made})
    return [Started(made[root], chain_id is not None) for root, chain_id in zip(roots, found, strict=True)]


def _add_blocked(execution: Execution, job: NewJob, seq: int | None) -> Plan[None]:
    statuses = yield from _statuses(job.after)
    open_blockers = [chain_id for chain_id in job.after if statuses[chain_id] != Status.COMPLETED]
    yield Many(_INSERT, [row(execution, job, seq, len(open_blockers))])
    yield Many(_INSERT_BLOCKER, [(job.id, position, chain_id) for position, chain_id in enumerate(job.after)])
    yield Statement(_COUNT_UP, {"type": job.type, "jobs": 1})
    if not open_blockers:
        execution.hints.due.add(job.type)
    execution.record("created", job.id, job.chain_id, job.type, 0)
    broken = [chain_id for chain_id in open_blockers if statuses[chain_id] in FINISHED]
    if broken and job.on_blocker_failure == "fail":
        yield from blockers.fail_with(execution, job, broken[0])
        yield from blockers.broken(execution, job.chain_id)


def _statuses(chain_ids: Iterable[str]) -> Plan[dict[str, str]]:
    rows = yield Statement(_STATUSES, {"ids": as_json(chain_ids)})
    return dict(rows)
