"""Start chains and add continuations."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from holdfast.core.lifecycle import NewJob, create
from holdfast.core.record import ChainRecord
from holdfast.engine.operations import Preview, Start, Started
from holdfast.engine.wakeups import Hints
from holdfast.errors import ChainNotFound, Conflict, HoldfastError
from holdfast.stores.postgres.execution import Turn
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs import blockers, chains, dedup
from holdfast.stores.postgres.verbs.insert import Inserted, insert, insert_plain
from holdfast.stores.sql.plan import Plan, Statement

_AWAIT = SQL["await"]


def start(turn: Turn, op: Start) -> Plan[list[Started]]:
    if not op.jobs:
        return []
    if any(job.key is not None or job.after for job in op.jobs):
        yield from turn.begin()
        found = yield from dedup.hold(turn, op.jobs)
        answers = yield from create_found(turn, op.jobs, found)
        yield from turn.recorded()
        return answers
    return (yield from _start_plain(turn, op.jobs))


def preview(turn: Turn, op: Preview) -> Plan[list[ChainRecord | None]]:
    yield from turn.begin()
    found = yield from dedup.find(turn, op.jobs)
    stored = yield from chains.read({chain_id for chain_id in found if chain_id is not None})
    to_be = {job.id: create(job) for job, chain_id in zip(op.jobs, found, strict=True) if chain_id is None}
    return [
        None if chain_id is None else stored.get(chain_id) or ChainRecord(to_be[chain_id], to_be[chain_id])
        for chain_id in found
    ]


def check_starts(
    turn: Turn, jobs: Sequence[NewJob], expected: Sequence[str]
) -> Plan[tuple[list[str | None], HoldfastError | None]]:
    """What these starts would find, and why they cannot be written as their transaction was told, if so.

    Their keys are held, and the last jobs of their blockers.
    """
    if not jobs:
        return [], None
    found = yield from dedup.find(turn, jobs)
    for job, chain_id, reported in zip(jobs, found, expected, strict=True):
        if (chain_id or job.id) != reported:
            problem = f"key {job.key!r} of {job.type!r} was started or finished by another at the same time"
            return found, Conflict(problem)
    new = [job for job, chain_id in zip(jobs, found, strict=True) if chain_id is None]
    made: set[str] = set()
    for job in new:
        if missing := (yield from blockers.missing(job, made)):
            return found, missing
        made.add(job.id)
    return found, None


def add(turn: Turn, jobs: Sequence[NewJob], *, awaited: Collection[str] = ()) -> Plan[Inserted]:
    """Create jobs in an open transaction, blocked where a blocker is still open; `awaited` are ids of some of them.

    The last jobs of their blockers are locked.
    """
    named = blockers.named(jobs)
    tails = yield from chains.tails(named)
    statuses = {chain_id: tail.status for chain_id, tail in tails.items()}
    if tails:
        yield Statement(_AWAIT, {"seqs": [tail.seq for tail in tails.values()]})
    open_blockers: list[int] = []
    failed: list[tuple[int, str]] = []
    for place, job in enumerate(jobs):
        for chain_id in job.after:
            if chain_id not in statuses:
                raise ChainNotFound(chain_id)
        left = [chain_id for chain_id in job.after if statuses[chain_id] != "completed"]
        ended = [chain_id for chain_id in left if statuses[chain_id] in ("failed", "cancelled")]
        open_blockers.append(len(left))
        fails = bool(ended) and job.on_blocker_failure == "fail"
        if fails:
            failed.append((place, ended[0]))
        if job.index == 0:
            statuses[job.id] = "failed" if fails else "blocked" if left else "pending"
    inserted = Inserted(*(yield insert(turn, jobs, open_blockers=open_blockers, awaited={*named, *awaited}))[0])
    if len(inserted.seqs) < len(jobs):
        raise Conflict("a job with the same id was started by another at the same time; start it again")
    turn.hints.due.update(job.type for job, left in zip(jobs, open_blockers, strict=True) if not left)
    for place, blocker in failed:
        yield from turn.recorded()
        broken = yield from chains.fail(turn, [inserted.seqs[place]], blocker)
        yield from chains.broken(turn, [chain_id for chain_id in broken if chain_id not in statuses])
    turn.hints.recorded |= inserted.recorded
    return inserted


def _start_plain(turn: Turn, jobs: Sequence[NewJob]) -> Plan[list[Started]]:
    """Jobs without keys or blockers: one statement, which need not look before."""
    distinct = jobs if len(jobs) == 1 else list({job.id: job for job in reversed(jobs)}.values())[::-1]
    due = {job.type for job in distinct}
    notice = None if turn.voice is None else turn.voice.emit(Hints(due))
    rows = yield from insert_plain(turn, distinct, notice=notice)
    turn.receive(rows)
    inserted = [Inserted(*row) for row in rows]
    # Told also where nothing is new: the same start was sent before, and its sender may not know that it was written.
    turn.hints.due |= due
    turn.hints.recorded |= any(part.recorded for part in inserted)
    seqs = [(seq, part.now) for part in inserted for seq in part.seqs]
    if len(seqs) == len(jobs):
        records = [create(job, now, seq) for job, (seq, now) in zip(jobs, seqs, strict=True)]
        return [Started(ChainRecord(record, record), False) for record in records]
    return (yield from _read_again(turn, jobs, {seq for seq, _ in seqs}))


def _read_again(turn: Turn, jobs: Sequence[NewJob], new: set[int]) -> Plan[list[Started]]:
    """Some ids existed before, or were given twice: answer each with the chain it belongs to now."""
    roots = yield from dedup.roots(job.id for job in jobs)
    stored = yield from chains.read(set(roots.values()))
    answers: list[Started] = []
    for job in jobs:
        chain = stored.get(roots.get(job.id, job.id))
        if chain is None:
            raise _gone(job.id)
        answers.append(Started(chain, chain.first.seq not in new and not _made_before(turn, job)))
        new.discard(chain.first.seq)
    return answers


def create_found(turn: Turn, jobs: Sequence[NewJob], found: Sequence[str | None]) -> Plan[list[Started]]:
    """Create the jobs that found nothing, in an open transaction. Conflict if a chain that was found is gone."""
    made = yield from create_new(turn, jobs, found)
    # Found by its own id: sent before, and maybe not told.
    turn.hints.due.update(job.type for job, chain_id in zip(jobs, found, strict=True) if chain_id == job.id)
    roots = [chain_id or job.id for job, chain_id in zip(jobs, found, strict=True)]
    if others := {root for root in roots if root not in made}:
        made |= yield from chains.read(others)
    if missing := others - made.keys():
        raise _gone(*missing)
    return [
        Started(made[root], chain_id is not None and not (chain_id == job.id and _made_before(turn, job)))
        for job, root, chain_id in zip(jobs, roots, found, strict=True)
    ]


def create_new(turn: Turn, jobs: Sequence[NewJob], found: Sequence[str | None]) -> Plan[dict[str, ChainRecord]]:
    """Create the jobs that found nothing, in an open transaction; answers those that wait for nothing, by id."""
    new = [job for job, chain_id in zip(jobs, found, strict=True) if chain_id is None]
    made: dict[str, ChainRecord] = {}
    if new:
        inserted = yield from add(turn, new)
        for job, seq in zip(new, inserted.seqs, strict=True):
            if not job.after:
                record = create(job, inserted.now, seq)
                made[job.id] = ChainRecord(record, record)
    return made


def _made_before(turn: Turn, job: NewJob) -> bool:
    """Whether a chain with the job's id was made by an earlier try, whose answer was lost: nobody else has that id."""
    return turn.unsure and not job.chosen


def _gone(*chain_ids: str) -> Conflict:
    return Conflict(f"found and at the same time deleted by another: {', '.join(sorted(chain_ids))}; start it again")
