"""Start chains and add continuations."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.blocker_types import wrong_blocker
from holdfast.core.counters import MINUTE
from holdfast.core.lifecycle import NewJob, create
from holdfast.core.record import ChainRecord
from holdfast.core.replacing import replaces
from holdfast.engine.operations import PreviewStart, Start, Started
from holdfast.errors import ChainNotFound, Conflict, HoldfastError
from holdfast.stores.sql.plan import Plan, PlanContext, Row, Statement
from holdfast.stores.sqlite.rows import SQL, as_json
from holdfast.stores.sqlite.verbs import blockers, chains, dependencies, events
from holdfast.stores.sqlite.verbs.blocking import end_at_once, name_blockers, wait_for
from holdfast.stores.sqlite.verbs.insert import (
    COUNT_UP,
    add_one,
    add_plain,
    enter_orders,
    enter_tracks,
    insert_rows,
    last_seq,
    new_record,
    row,
)
from holdfast.stores.sqlite.verbs.replace import replace_chain

_START_ONE = SQL["start_one"]
_FIND_IDS = SQL["find_ids"]
_FIND_KEY = SQL["find_key"]

EARLIEST = -(1 << 63)
"""Earlier than every creation time."""


def start(context: PlanContext, operation: Start) -> Plan[list[Started]]:
    """Create the chains that do not exist yet.

    It also reads whether a listener is registered. For one job, the same statement reads it.
    """
    if len(operation.jobs) == 1 and operation.jobs[0].key is None and not operation.jobs[0].after:
        return [(yield from _start_plain(context, operation.jobs[0]))]
    yield from events.check_listeners(context)
    found = yield from _find(context, operation.jobs)
    if (refused := (yield from _refused(operation.jobs, found))) is not None:
        raise refused
    return (yield from _create(context, operation.jobs, found))


def preview(context: PlanContext, operation: PreviewStart) -> Plan[list[ChainRecord | None]]:
    found = yield from _find(context, operation.jobs)
    stored = yield from chains.read({chain_id for chain_id in found if chain_id is not None})
    to_be = {job.id: create(job) for job, chain_id in zip(operation.jobs, found, strict=True) if chain_id is None}
    return [
        None if chain_id is None else stored.get(chain_id) or ChainRecord(to_be[chain_id], to_be[chain_id])
        for chain_id in found
    ]


def check_starts(context: PlanContext, jobs: Sequence[NewJob], expected: Sequence[str]) -> Plan[HoldfastError | None]:
    """Why these starts cannot be written with the ids that the transaction returned before; None if they can."""
    found = yield from _find(context, jobs)
    for job, chain_id, reported in zip(jobs, found, expected, strict=True):
        if (chain_id or job.id) != reported:
            return Conflict(
                f"key {job.key!r} of {job.type!r} was started or finished by another caller at the same time"
            )
    return (yield from _refused(jobs, found))


def check_continuation(job: NewJob, starts: Sequence[NewJob], expected: Sequence[str]) -> Plan[HoldfastError | None]:
    """Why a job cannot continue its chain: an unknown or wrong blocker, or a cycle; None if it can.

    `starts` are written in the same operation, and `expected` are their chain ids.
    """
    if not job.after:
        return None
    known = (yield from blockers.statuses(job.after)).keys() | set(expected)
    for chain_id in job.after:
        if chain_id not in known:
            return ChainNotFound(chain_id)
    if job.blocker_types:
        planned = {reported: start.type for start, reported in zip(starts, expected, strict=True)}
        if (wrong := wrong_blocker(job, planned | (yield from blockers.types(job.after)))) is not None:
            return wrong
    beside: dict[str, tuple[str, ...]] = {}
    if any(start.after for start in starts):
        stored: dict[str, str] = dict((yield Statement(_FIND_IDS, {"ids": as_json(expected)})))
        beside = {start.id: start.after for start in starts if start.id in expected and start.id not in stored}
        pairs = zip(starts, expected, strict=True)
        beside |= {reported: start.after for start, reported in pairs if replaces(start, reported)}
    return (yield from dependencies.cycle(job.chain_id, job.after, beside))


def add(context: PlanContext, job: NewJob) -> Plan[None]:
    """Create a job. It is blocked if one of its blockers has not completed."""
    seq = (yield from last_seq()) + 1
    if job.after:
        yield from _add_blocked(context, job, seq)
    else:
        yield from add_one(context, job, row(context, job, seq))


def _start_plain(context: PlanContext, job: NewJob) -> Plan[Started]:
    """Start one job without key and blockers, the most frequent case. The general code takes twice as long."""
    [(seq, root, context.listening)] = yield Statement(_START_ONE, {"id": job.id, "now": context.now})
    if root is not None:
        return Started((yield from chains.read({root}))[root], True)
    values = row(context, job, seq + 1)
    yield from add_one(context, job, values)
    record = new_record(*values)
    return Started(ChainRecord(record, record), False)


def _find(context: PlanContext, jobs: Sequence[NewJob]) -> Plan[list[str | None]]:
    """For each job, the chain that already exists for it, in the store or earlier in the batch; None for a new one."""
    known: dict[str, str] = dict((yield Statement(_FIND_IDS, {"ids": as_json([job.id for job in jobs])})))
    keyed: dict[tuple[str, str], list[str]] = {}
    found: list[str | None] = []
    for job in jobs:
        match = known.get(job.id)
        if match is None and job.key is not None:
            made = keyed.setdefault((job.type, job.key), [])
            match = yield from _find_key(context, job, made)
            if match is None:
                made.append(job.id)
        if match is None:
            known[job.id] = job.id
        found.append(match)
    return found


def _find_key(context: PlanContext, job: NewJob, made: list[str]) -> Plan[str | None]:
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
            "since": EARLIEST if job.window is None else context.now - job.window,
            "exclude": as_json(job.exclude),
            "scope": job.dedup,
            "now": context.now,
        },
    )
    return rows[0][0] if rows else None


def _refused(jobs: Sequence[NewJob], found: Sequence[str | None]) -> Plan[HoldfastError | None]:
    """Why these jobs cannot be written: an unknown blocker, or a cycle that a changed chain would close."""
    named = {chain_id for job in jobs if job.after for chain_id in job.after}
    if not named:
        return None
    known = set((yield from blockers.statuses(named)))
    types: dict[str, str] = {}
    if any(job.blocker_types for job in jobs):
        types = yield from blockers.types(named)
    for job, chain_id in zip(jobs, found, strict=True):
        if chain_id is None or replaces(job, chain_id):
            for blocker in job.after:
                if blocker not in known:
                    return ChainNotFound(blocker)
            if (wrong := wrong_blocker(job, types)) is not None:
                return wrong
            known.add(chain_id or job.id)
            types[chain_id or job.id] = job.type
    waiting: dict[str, Sequence[str]] = {}
    for job, chain_id in zip(jobs, found, strict=True):
        if chain_id is None or replaces(job, chain_id):
            waiting[chain_id or job.id] = job.after
            if chain_id is not None and (closed := (yield from dependencies.cycle(chain_id, job.after, waiting))):
                return closed
    return None


def _create(context: PlanContext, jobs: Sequence[NewJob], found: Sequence[str | None]) -> Plan[list[Started]]:
    seq = yield from last_seq()
    made: dict[str, ChainRecord] = {}
    plain: list[NewJob] = []
    rows: list[Row] = []
    for job, chain_id in zip(jobs, found, strict=True):
        if chain_id is not None:
            continue
        seq += 1
        if job.after:
            if plain:
                yield from add_plain(context, plain, rows)
                plain, rows = [], []
            yield from _add_blocked(context, job, seq)
            seq = yield from last_seq()  # a job that failed at once may have started its hook
        else:
            plain.append(job)
            rows.append(row(context, job, seq))
            record = new_record(*rows[-1])
            made[job.id] = ChainRecord(record, record)
    if plain:
        yield from add_plain(context, plain, rows)
    for job, chain_id in zip(jobs, found, strict=True):
        if chain_id is not None and replaces(job, chain_id):
            yield from replace_chain(context, chain_id, job)
            made.pop(chain_id, None)
    # Existing chains are read, and so are new ones with blockers: a failed blocker may have failed them at once.
    roots = [chain_id or job.id for job, chain_id in zip(jobs, found, strict=True)]
    if len(made) < len(jobs):
        made |= yield from chains.read({root for root in roots if root not in made})
    return [Started(made[root], chain_id is not None) for root, chain_id in zip(roots, found, strict=True)]


def _add_blocked(context: PlanContext, job: NewJob, seq: int) -> Plan[None]:
    waiting = yield from wait_for(job)
    if not waiting.open_blockers:
        yield from enter_tracks((job,))
    yield from insert_rows([row(context, job, seq, waiting.open_blockers)])
    yield from enter_orders((job,))
    yield from name_blockers(job.id, job.after)
    yield Statement(COUNT_UP, {"type": job.type, "minute": context.now // MINUTE, "jobs": 1})
    if not waiting.open_blockers:
        context.hints.due.add(job.type)
    context.record("created", job.id, job.chain_id, job.type, 0)
    yield from end_at_once(context, job, waiting)
