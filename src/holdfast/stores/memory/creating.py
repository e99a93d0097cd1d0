"""Start chains and add continuations."""

from __future__ import annotations

import msgspec

from holdfast.errors import ChainNotFound, Conflict, HoldfastError
from holdfast.job import ChainRecord, Status
from holdfast.lifecycle import NewJob, create
from holdfast.operations import Preview, Start, Started
from holdfast.stores.memory.state import State


def start(state: State, op: Start) -> list[Started]:
    found = preview(state, Preview(op.jobs))
    _check_blockers(state, op.jobs, found)
    answers: list[Started] = []
    for job, chain in zip(op.jobs, found, strict=True):
        if chain is None:
            add(state, job)
        root = job.id if chain is None else chain.first.id
        answers.append(Started(state.need_chain(root), deduplicated=chain is not None))
    return answers


def preview(state: State, op: Preview) -> list[ChainRecord | None]:
    """For each job, the chain it would find: in the store, or made earlier in the same batch."""
    batch: list[NewJob] = []
    found: list[ChainRecord | None] = []
    for job in op.jobs:
        match = _existing(state, job) or _in_batch(batch, job)
        found.append(match)
        if match is None:
            batch.append(job)
    return found


def check_starts(state: State, jobs: tuple[NewJob, ...], expected: tuple[str, ...]) -> HoldfastError | None:
    """Why these starts cannot be written as their transaction was told; None if they can."""
    found = preview(state, Preview(jobs))
    for job, chain, told in zip(jobs, found, expected, strict=True):
        if (job.id if chain is None else chain.first.id) != told:
            return Conflict(f"key {job.key!r} of {job.type!r} was started or finished by another at the same time")
    try:
        _check_blockers(state, jobs, found)
    except ChainNotFound as error:
        return error
    return None


def add(state: State, job: NewJob) -> None:
    """Create a job, blocked where a blocker is still open."""
    now = state.now()
    state.seq += 1
    open_blockers = [chain for chain in job.after if state.need_chain(chain).last.status is not Status.COMPLETED]
    record = create(job, now, state.seq)
    if open_blockers:
        record = msgspec.structs.replace(record, status=Status.BLOCKED, open_blockers=len(open_blockers))
    state.chains.setdefault(job.chain_id, []).append(job.id)
    if job.key is not None and job.index == 0:
        state.keys[job.type, job.key].append(job.id)
    if job.after:
        state.blockers[job.id] = job.after
    for chain in job.after:
        state.dependents[chain].append(job.id)
    state.put(record, "created")
    if job.on_blocker_failure == "fail":
        for chain in open_blockers:
            if state.need_chain(chain).last.status.finished:
                state.chain_broken(chain, now)


def missing_blocker(state: State, job: NewJob) -> ChainNotFound | None:
    """The first of a job's blockers that does not exist."""
    return next((ChainNotFound(chain) for chain in job.after if chain not in state.chains), None)


def _existing(state: State, job: NewJob) -> ChainRecord | None:
    if job.id in state.jobs:
        return state.need_chain(state.jobs[job.id].chain_id)
    if job.key is None:
        return None
    for chain_id in reversed(state.keys.get((job.type, job.key), ())):
        chain = state.need_chain(chain_id)
        if (
            chain_id not in job.exclude
            and (job.window is None or chain.first.created_at > state.now() - job.window)
            and (job.dedup == "any" or not chain.last.status.finished)
        ):
            return chain
    return None


def _in_batch(batch: list[NewJob], job: NewJob) -> ChainRecord | None:
    for made in batch:
        same_key = job.key is not None and (made.type, made.key) == (job.type, job.key)
        if made.id == job.id or (same_key and made.id not in job.exclude):
            record = create(made)
            return ChainRecord(record, record)
    return None


def _check_blockers(state: State, jobs: tuple[NewJob, ...], found: list[ChainRecord | None]) -> None:
    made: set[str] = set()
    for job, chain in zip(jobs, found, strict=True):
        if chain is None:
            for blocker in job.after:
                if blocker not in state.chains and blocker not in made:
                    raise ChainNotFound(blocker)
            made.add(job.id)
