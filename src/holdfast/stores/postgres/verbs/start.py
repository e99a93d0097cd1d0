"""Start chains and add continuations."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from holdfast.core.blocker_rules import blocker_state
from holdfast.core.lifecycle import NewJob, create
from holdfast.core.record import ChainRecord
from holdfast.core.replacing import replaces
from holdfast.engine.operations import PreviewStart, Start, Started
from holdfast.engine.wakeups import Hints
from holdfast.errors import ChainNotFound, Conflict, HoldfastError
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs import blockers, chain_ends, chains, dedup, replace
from holdfast.stores.postgres.verbs.insert import Inserted, insert, insert_plain
from holdfast.stores.sql.plan import Statement

_AWAIT = SQL["await"]


def start(context: PlanContext, op: Start) -> Plan[list[Started]]:
    if not op.jobs:
        return []
    if any(job.key is not None or job.after for job in op.jobs):
        yield from context.begin()
        found = yield from replace.find_and_lock(context, op.jobs)
        answers = yield from create_found(context, op.jobs, found)
        yield from context.write_events()
        return answers
    return (yield from _start_plain(context, op.jobs))


def preview(context: PlanContext, op: PreviewStart) -> Plan[list[ChainRecord | None]]:
    yield from context.begin()
    found = yield from dedup.find(context, op.jobs)
    stored = yield from chains.read({chain_id for chain_id in found if chain_id is not None})
    to_be = {job.id: create(job) for job, chain_id in zip(op.jobs, found, strict=True) if chain_id is None}
    return [
        None if chain_id is None else stored.get(chain_id) or ChainRecord(to_be[chain_id], to_be[chain_id])
        for chain_id in found
    ]


def check_starts(
    context: PlanContext, jobs: Sequence[NewJob], expected: Sequence[str]
) -> Plan[tuple[list[str | None], HoldfastError | None]]:
    """The existing chain of each start, and the error if a start would not return the chain that its caller expects.

    Their keys are locked, and so are the last jobs of their blockers.
    """
    if not jobs:
        return [], None
    found = yield from dedup.find(context, jobs)
    for job, chain_id, expected_id in zip(jobs, found, expected, strict=True):
        if (chain_id or job.id) != expected_id:
            problem = f"key {job.key!r} of {job.type!r} was started or finished by another caller at the same time"
            return found, Conflict(problem)
    made: dict[str, str] = {}
    for job, chain_id in zip(jobs, found, strict=True):
        if chain_id is None or replaces(job, chain_id):
            if refused := (yield from blockers.refused(job, made)):
                return found, refused
            made[chain_id or job.id] = job.type
    return found, (yield from replace.lock_free(context, jobs, found))


def add(context: PlanContext, jobs: Sequence[NewJob], *, awaited: Collection[str] = ()) -> Plan[Inserted]:
    """Create jobs in an open transaction. A job with an open blocker is blocked. The last jobs of blockers are locked.

    `awaited` has the ids of those new jobs, or of their chains, that other jobs wait for.
    """
    named = blockers.chain_ids(jobs)
    tails = yield from chains.tails(named)
    statuses = {chain_id: tail.status for chain_id, tail in tails.items()}
    if tails:
        yield Statement(_AWAIT, {"seqs": [tail.seq for tail in tails.values()]})
    open_blockers: list[int] = []
    failed: list[tuple[int, str]] = []
    cancelled: list[int] = []
    for index, job in enumerate(jobs):
        for chain_id in job.after:
            if chain_id not in statuses:
                raise ChainNotFound(chain_id)
        waiting = blocker_state(job.on_blocker_failure, job.after, statuses)
        status: str = waiting.status
        if waiting.cancelled:
            cancelled.append(index)
            status = "cancelled"
        if waiting.broken is not None:
            failed.append((index, waiting.broken))
            status = "failed"
        open_blockers.append(waiting.open_blockers)
        if job.index == 0:
            statuses[job.id] = status
    if wrong := (yield from blockers.wrong(jobs, {job.id: job.type for job in jobs})):
        raise wrong
    inserted = Inserted(*(yield insert(context, jobs, open_blockers=open_blockers, awaited={*named, *awaited}))[0])
    if len(inserted.seqs) < len(jobs):
        raise Conflict("a job with the same id was started by another caller at the same time; start it again")
    context.hints.due.update(job.type for job, left in zip(jobs, open_blockers, strict=True) if not left)
    for index, blocker in failed:
        yield from context.write_events()
        broken = yield from chain_ends.fail(context, [inserted.seqs[index]], blocker)
        yield from chain_ends.fail_dependents(context, [chain_id for chain_id in broken if chain_id not in statuses])
    if cancelled:
        yield from context.write_events()
        broken = yield from chain_ends.cancel_waiting(context, [inserted.seqs[index] for index in cancelled])
        yield from chain_ends.fail_dependents(context, [chain_id for chain_id in broken if chain_id not in statuses])
    context.hints.recorded |= inserted.recorded
    return inserted


def _start_plain(context: PlanContext, jobs: Sequence[NewJob]) -> Plan[list[Started]]:
    """Start jobs without keys and blockers, with one statement and without a search."""
    distinct = jobs if len(jobs) == 1 else list(_first_by_id(jobs).values())
    due = {job.type for job in distinct}
    notify = None if context.notify is None else context.notify.hints(Hints(due))
    result = yield from insert_plain(context, distinct, notify=notify)
    context.receive(result)
    inserted = [Inserted(*row) for row in result]
    # Hints are sent even if no job is new: the answer of an earlier try may have been lost, and its hints with it.
    context.hints.due |= due
    context.hints.recorded |= any(part.recorded for part in inserted)
    seqs = [(seq, part.now) for part in inserted for seq in part.seqs]
    if len(seqs) == len(jobs):
        records = [create(job, now, seq) for job, (seq, now) in zip(jobs, seqs, strict=True)]
        return [Started(ChainRecord(record, record), False) for record in records]
    return (yield from _read_again(context, jobs, {seq for seq, _ in seqs}))


def _first_by_id(jobs: Sequence[NewJob]) -> dict[str, NewJob]:
    """The first job with each id, in the order of the batch."""
    found: dict[str, NewJob] = {}
    for job in jobs:
        found.setdefault(job.id, job)
    return found


def _read_again(context: PlanContext, jobs: Sequence[NewJob], new: set[int]) -> Plan[list[Started]]:
    """Some ids existed before, or occur twice: return the current chain of each job."""
    roots = yield from dedup.roots(job.id for job in jobs)
    stored = yield from chains.read(set(roots.values()))
    answers: list[Started] = []
    for job in jobs:
        chain = stored.get(roots.get(job.id, job.id))
        if chain is None:
            raise _deleted(job.id)
        answers.append(Started(chain, chain.first.seq not in new and not _made_before(context, job)))
        new.discard(chain.first.seq)
    return answers


def create_found(context: PlanContext, jobs: Sequence[NewJob], found: Sequence[str | None]) -> Plan[list[Started]]:
    """Create the jobs without an existing chain, in an open transaction. Raises Conflict if a chain was deleted."""
    made = yield from create_new(context, jobs, found)
    # A chain found by the id of its job comes from an earlier try, whose hints may not have been sent.
    context.hints.due.update(job.type for job, chain_id in zip(jobs, found, strict=True) if chain_id == job.id)
    roots = [chain_id or job.id for job, chain_id in zip(jobs, found, strict=True)]
    if others := {root for root in roots if root not in made}:
        made |= yield from chains.read(others)
    if missing := others - made.keys():
        raise _deleted(*missing)
    return [
        Started(made[root], chain_id is not None and not (chain_id == job.id and _made_before(context, job)))
        for job, root, chain_id in zip(jobs, roots, found, strict=True)
    ]


def create_new(
    context: PlanContext, jobs: Sequence[NewJob], found: Sequence[str | None]
) -> Plan[dict[str, ChainRecord]]:
    """Create the jobs without an existing chain, and write the others that replace one, in an open transaction.

    Returns the new chains without blockers, by id.
    """
    new = [job for job, chain_id in zip(jobs, found, strict=True) if chain_id is None]
    made: dict[str, ChainRecord] = {}
    if new:
        inserted = yield from add(context, new)
        for job, seq in zip(new, inserted.seqs, strict=True):
            if not job.after:
                record = create(job, inserted.now, seq)
                made[job.id] = ChainRecord(record, record)
    for job, chain_id in zip(jobs, found, strict=True):
        if chain_id is not None and replaces(job, chain_id):
            yield from replace.write(context, job, chain_id)
            made.pop(chain_id, None)
    return made


def _made_before(context: PlanContext, job: NewJob) -> bool:
    """Whether an earlier try, whose answer was lost, created the chain: no other caller has a generated id."""
    return context.unsure and not job.chosen


def _deleted(*chain_ids: str) -> Conflict:
    return Conflict(f"found and at the same time deleted by another: {', '.join(sorted(chain_ids))}; start it again")
