"""Start: create chains, once per key, and continuations."""

from __future__ import annotations

from holdfast.core.blocker_types import wrong_blocker
from holdfast.core.clock import Micros
from holdfast.core.lifecycle import DedupScope, NewJob, create, key_taken_until
from holdfast.core.record import ChainRecord, Status
from holdfast.core.replacing import replaces
from holdfast.engine.operations import PreviewStart, Start, Started
from holdfast.errors import ChainNotFound, Conflict, HoldfastError
from holdfast.stores.memory import counting
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.blocking import end_at_once, name_blockers, wait_for
from holdfast.stores.memory.verbs.dependencies import cycle
from holdfast.stores.memory.verbs.replace import replace_chain


def start(state: State, op: Start) -> list[Started]:
    found = _duplicates(state, op.jobs)
    if (refused := _refused(state, op.jobs, found)) is not None:
        raise refused
    now = state.now()
    created: dict[str, int] = {}
    for job, chain in zip(op.jobs, found, strict=True):
        if chain is None:
            add(state, job, now)
            created[job.type] = created.get(job.type, 0) + 1
        elif replaces(job, chain.first.id):
            replace_chain(state, chain.first.id, job)
    counting.count_started(state, created, now)
    return [
        _created(state, job) if chain is None else Started(state.need_chain(chain.first.id), deduplicated=True)
        for job, chain in zip(op.jobs, found, strict=True)
    ]


def _created(state: State, job: NewJob) -> Started:
    record = state.jobs[job.id]
    return Started(ChainRecord(record, record), deduplicated=False)


def preview(state: State, op: PreviewStart) -> list[ChainRecord | None]:
    return _duplicates(state, op.jobs)


def _duplicates(state: State, jobs: tuple[NewJob, ...]) -> list[ChainRecord | None]:
    """For each job, the chain that it is a duplicate of: an earlier one of the batch, or one in the store."""
    created: dict[str, NewJob] = {}
    keyed: dict[tuple[str, str], list[NewJob]] = {}
    found: list[ChainRecord | None] = []
    for job in jobs:
        match = _by_id(state, created, job)
        if match is None and job.key is not None:
            same_key = keyed.setdefault((job.type, job.key), [])
            match = _by_key(state, same_key, job, job.key)
            if match is None:
                same_key.append(job)
        if match is None:
            created[job.id] = job
        found.append(match)
    return found


def check_starts(state: State, jobs: tuple[NewJob, ...], expected: tuple[str, ...]) -> HoldfastError | None:
    """Why these starts conflict with the chain ids that the handler received; None if they do not."""
    found = _duplicates(state, jobs)
    for job, chain, reported in zip(jobs, found, expected, strict=True):
        if (job.id if chain is None else chain.first.id) != reported:
            return Conflict(
                f"key {job.key!r} of {job.type!r} was started or finished by another caller at the same time"
            )
    return _refused(state, jobs, found)


def add(state: State, job: NewJob, now: Micros) -> None:
    """Create a job. It is blocked if a blocker is not completed. The caller counts it."""
    state.seq += 1
    if job.index:
        state.append(state.chains, job.chain_id, job.id)
    else:
        state.set(state.chains, job.id, [job.id])
        if job.key is not None:
            state.append(state.keys, (job.type, job.key), job.id)
    if not job.after:
        state.put(create(job, now, state.seq), "created")
        return
    waiting = wait_for(state, job)
    record = create(job, now, state.seq, status=waiting.status, open_blockers=waiting.open_blockers)
    name_blockers(state, record, job.after)
    state.put(record, "created")
    end_at_once(state, record, waiting)


def check_continuation(
    state: State, job: NewJob, starts: tuple[NewJob, ...], expected: tuple[str, ...]
) -> HoldfastError | None:
    """Why a job cannot continue its chain: an unknown or wrong blocker, or a cycle; None if it can.

    `starts` are created in the same operation.
    """
    if not job.after:
        return None
    planned = {reported: start.type for start, reported in zip(starts, expected, strict=True)}
    if (refused := _refused_blocker(state, job, planned)) is not None:
        return refused
    beside = {
        reported: start.after
        for start, reported in zip(starts, expected, strict=True)
        if replaces(start, reported) or (reported == start.id and start.id not in state.jobs)
    }
    return cycle(state, job.chain_id, job.after, beside)


def _by_id(state: State, created: dict[str, NewJob], job: NewJob) -> ChainRecord | None:
    if job.id in state.jobs:
        return state.need_chain(state.jobs[job.id].chain_id)
    return _preview(created[job.id]) if job.id in created else None


def _by_key(state: State, created: list[NewJob], job: NewJob, key: str) -> ChainRecord | None:
    """The newest chain in the job's dedup scope."""
    for other in reversed(created):
        if other.id not in job.exclude and (job.window is None or job.window > 0):
            return _preview(other)
    for chain_id in reversed(state.keys.get((job.type, key), ())):
        chain = state.need_chain(chain_id)
        if (
            chain_id not in job.exclude
            and (job.window is None or chain.first.created_at > state.now() - job.window)
            and _counts(state, job.dedup, chain)
        ):
            return chain
    return None


def _counts(state: State, scope: DedupScope, chain: ChainRecord) -> bool:
    """Whether a chain is in a dedup scope."""
    if scope == "waiting":
        waits = chain.last.index == 0 and chain.last.status in (Status.PENDING, Status.BLOCKED)
        return waits and not state.steps.get(chain.first.id)
    if scope == "any" or not chain.last.status.finished:
        return True
    if scope == "incomplete" or chain.last.status is not Status.COMPLETED:
        return False
    until = key_taken_until(chain)
    return not state.expired(chain) if until is None else until > state.now()


def _preview(job: NewJob) -> ChainRecord:
    record = create(job)
    return ChainRecord(record, record)


def _refused(state: State, jobs: tuple[NewJob, ...], found: list[ChainRecord | None]) -> HoldfastError | None:
    """Why these jobs cannot be written: a blocker that is refused, or a cycle that a changed chain would close."""
    if not [job for job in jobs if job.after]:
        return None
    written = [
        (job, job.id if chain is None else chain.first.id)
        for job, chain in zip(jobs, found, strict=True)
        if chain is None or replaces(job, chain.first.id)
    ]
    planned: dict[str, str] = {}
    for job, chain_id in written:
        if (refused := _refused_blocker(state, job, planned)) is not None:
            return refused
        planned[chain_id] = job.type
    named: dict[str, tuple[str, ...]] = {}
    for job, chain_id in written:
        named[chain_id] = job.after
        if replaces(job, chain_id) and (closed := cycle(state, chain_id, job.after, named)) is not None:
            return closed
    return None


def _refused_blocker(state: State, job: NewJob, planned: dict[str, str]) -> HoldfastError | None:
    """The error for a blocker that does not exist, or has another type. `planned` has the types of new chains."""
    types = {chain: planned[chain] for chain in job.after if chain in planned}
    types |= {chain: state.jobs[chain].type for chain in job.after if chain in state.chains}
    missing = next((chain for chain in job.after if chain not in types), None)
    return wrong_blocker(job, types) if missing is None else ChainNotFound(missing)
