"""Start: create chains, once per key, and continuations."""

from __future__ import annotations

import msgspec

from holdfast.core.lifecycle import DedupScope, NewJob, create, key_taken_until
from holdfast.core.record import ChainRecord, Status
from holdfast.engine.operations import Preview, Start, Started
from holdfast.errors import ChainNotFound, Conflict, HoldfastError
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.dependencies import cycle


def start(state: State, op: Start) -> list[Started]:
    found = preview(state, Preview(op.jobs))
    _check_blockers(state, op.jobs, found)
    for job, chain in zip(op.jobs, found, strict=True):
        if chain is None:
            add(state, job)
    return [
        Started(state.need_chain(job.id if chain is None else chain.first.id), deduplicated=chain is not None)
        for job, chain in zip(op.jobs, found, strict=True)
    ]


def preview(state: State, op: Preview) -> list[ChainRecord | None]:
    """For each job, the chain that it is a duplicate of: an earlier one of the batch, or one in the store."""
    created: dict[str, NewJob] = {}
    keyed: dict[tuple[str, str], list[NewJob]] = {}
    found: list[ChainRecord | None] = []
    for job in op.jobs:
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
    found = preview(state, Preview(jobs))
    for job, chain, reported in zip(jobs, found, expected, strict=True):
        if (job.id if chain is None else chain.first.id) != reported:
            return Conflict(f"key {job.key!r} of {job.type!r} was started or finished by another at the same time")
    try:
        _check_blockers(state, jobs, found)
    except ChainNotFound as error:
        return error
    return None


def add(state: State, job: NewJob) -> None:
    """Create a job. It is blocked if a blocker is not completed."""
    now = state.now()
    state.seq += 1
    open_blockers = [chain for chain in job.after if state.need_chain(chain).last.status is not Status.COMPLETED]
    record = create(job, now, state.seq)
    if open_blockers:
        record = msgspec.structs.replace(record, status=Status.BLOCKED, open_blockers=len(open_blockers))
    state.append(state.chains, job.chain_id, job.id)
    if job.key is not None and job.index == 0:
        state.append(state.keys, (job.type, job.key), job.id)
    if job.after:
        state.set(state.blockers, job.id, job.after)
    for chain in job.after:
        state.append(state.dependents, chain, job.id)
    state.put(record, "created")
    broken = [chain for chain in open_blockers if state.need_chain(chain).last.status.finished]
    if broken and job.on_blocker_failure == "fail":
        state.fail_with(record, broken[0], now)
        state.chain_broken(job.chain_id, now)


def check_continuation(
    state: State, job: NewJob, starts: tuple[NewJob, ...], expected: tuple[str, ...]
) -> HoldfastError | None:
    """Why a job cannot continue its chain: an unknown blocker or a cycle; None if it can.

    `starts` are created in the same operation.
    """
    if not job.after:
        return None
    unknown = (chain for chain in job.after if chain not in state.chains and chain not in expected)
    if (missing := next(unknown, None)) is not None:
        return ChainNotFound(missing)
    new = {start.id: start.after for start, reported in zip(starts, expected, strict=True) if reported == start.id}
    return cycle(state, job.chain_id, job.after, {id: new[id] for id in new.keys() - state.jobs.keys()})


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
    if scope == "any" or not chain.last.status.finished:
        return True
    if scope == "incomplete" or chain.last.status is not Status.COMPLETED:
        return False
    until = key_taken_until(chain)
    return not state.expired(chain) if until is None else until > state.now()


def _preview(job: NewJob) -> ChainRecord:
    record = create(job)
    return ChainRecord(record, record)


def _check_blockers(state: State, jobs: tuple[NewJob, ...], found: list[ChainRecord | None]) -> None:
    created: set[str] = set()
    for job, chain in zip(jobs, found, strict=True):
        if chain is None:
            for blocker in job.after:
                if blocker not in state.chains and blocker not in created:
                    raise ChainNotFound(blocker)
            created.add(job.id)
