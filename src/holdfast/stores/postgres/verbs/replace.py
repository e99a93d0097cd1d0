"""Replace: change a chain that has not begun, for a start with the same key."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import asdict

from holdfast.core.blocker_rules import blocker_state
from holdfast.core.lifecycle import NewJob
from holdfast.core.replacing import new_details, replaces
from holdfast.errors import ChainNotFound, Conflict, DependencyCycle, HoldfastError
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs import blockers, chain_ends, chains, dedup, dependencies, locks
from holdfast.stores.sql.plan import Statement

_AWAIT = SQL["await"]
_FORGET_BLOCKERS = SQL["forget_blockers"]
_REPLACE = SQL["replace_chain"]


def find_and_lock(context: PlanContext, jobs: Sequence[NewJob]) -> Plan[list[str | None]]:
    """The existing chain of each job, with keys and blockers locked, and the chains that will be replaced.

    Nothing is written. Raises ChainNotFound or DependencyCycle if a replaced chain cannot wait for its new blockers.
    """
    if not any(job.dedup == "waiting" for job in jobs):
        return (yield from dedup.find_and_lock(context, jobs))
    refused: HoldfastError | None = None

    def find() -> Plan[tuple[list[str | None], locks.Wanted]]:
        nonlocal refused
        found = yield from dedup.find(context, jobs)
        written = [(job, id) for job, id in zip(jobs, found, strict=True) if id is None or replaces(job, id)]
        tails = yield from chains.tails(blockers.chain_ids(job for job, _ in written))
        cycles, wanted = yield from _jobs_to_lock(jobs, found)
        made = {id or job.id: job.type for job, id in written}
        refused = _unknown_blocker(written, set(tails))
        refused = refused or (yield from blockers.wrong((job for job, _ in written), made))
        refused = refused or next((cycles[job.id] for job, _ in written if job.id in cycles), None)
        return found, locks.Wanted(wanted.changed, {*wanted.kept, *(tail.seq for tail in tails.values())})

    found = yield from locks.lock(context, find, keys=dedup.lock_keys(context, jobs))
    if refused is not None:
        raise refused
    return found


def lock_free(context: PlanContext, jobs: Sequence[NewJob], found: list[str | None]) -> Plan[HoldfastError | None]:
    """Lock the chains that these starts replace, without waiting: the operation holds other locks already.

    Returns the error if they cannot be replaced.
    """
    if not any(replaces(job, chain_id) for job, chain_id in zip(jobs, found, strict=True)):
        return None
    cycles, wanted = yield from _jobs_to_lock(jobs, found)
    seqs = {*wanted.changed, *wanted.kept}
    if seqs != (yield from locks.lock_free(seqs)) or found != (yield from dedup.find(context, jobs)):
        return Conflict("a chain that this operation replaces was changed by another caller at the same time")
    return next(iter(cycles.values()), None)


def write(context: PlanContext, job: NewJob, chain_id: str) -> Plan[None]:
    """Give a locked chain the input and the options of this start. A chain that has begun is not changed."""
    stored = yield from chains.read([chain_id])
    tails = yield from chains.tails(job.after)
    if tails:
        yield Statement(_AWAIT, {"seqs": [tail.seq for tail in tails.values()]})
    statuses = {id: tail.status for id, tail in tails.items()}
    waiting = blocker_state(job.on_blocker_failure, job.after, statuses)
    chain = {
        "id": chain_id, "type": job.type, "key": job.key, "start_id": job.id, "unsure": context.unsure,
    }  # fmt: skip
    yield Statement(_FORGET_BLOCKERS, chain)
    values = {
        **asdict(job),
        **chain,
        "details": new_details(stored[chain_id].first, job),
        "open_blockers": waiting.open_blockers,
        "after": list(job.after),
        "now": context.now,
    }
    for seq, _, recorded in (yield Statement(_REPLACE, values)):
        context.hints.recorded |= recorded
        if not waiting.open_blockers:
            context.hints.due.add(job.type)
        if waiting.broken is not None:
            yield from chain_ends.fail_dependents(context, (yield from chain_ends.fail(context, [seq], waiting.broken)))
        elif waiting.cancelled:
            yield from chain_ends.fail_dependents(context, (yield from chain_ends.cancel_waiting(context, [seq])))


def _jobs_to_lock(
    jobs: Sequence[NewJob], found: Sequence[str | None]
) -> Plan[tuple[dict[str, DependencyCycle], locks.Wanted]]:
    """The cycles that replaced chains would close, by the id of the start; and the chains and jobs to lock."""
    after = {id or job.id: job.after for job, id in zip(jobs, found, strict=True) if id is None or replaces(job, id)}
    targets = {id: job for job, id in zip(jobs, found, strict=True) if id is not None and replaces(job, id)}
    tails = yield from chains.tails(targets)
    changed = {tail.seq for tail in tails.values()}
    awaited = {chain_id for chain_id, tail in tails.items() if tail.awaited}
    ending = [chain_id for chain_id in awaited if blockers.possible_endings([targets[chain_id]])]
    changed |= yield from chains.affected_jobs(ending, "failing")
    # Only a chain that a job names as its blocker can be part of a cycle.
    named = {*awaited, *(blocker for blockers_of_one in after.values() for blocker in blockers_of_one)}
    walked = [
        (job.id, id, job.after)
        for job, id in zip(jobs, found, strict=True)
        if id is not None and job.after and id in named and replaces(job, id)
    ]
    cycles, kept = (yield from dependencies.replaced(walked, after)) if walked else ({}, set[int]())
    return cycles, locks.Wanted(changed, kept - changed)


def _unknown_blocker(written: Sequence[tuple[NewJob, str | None]], known: set[str]) -> ChainNotFound | None:
    """The error for the first blocker that neither exists nor is created by an earlier one of these jobs."""
    for job, chain_id in written:
        for blocker in job.after:
            if blocker not in known:
                return ChainNotFound(blocker)
        known.add(chain_id or job.id)
    return None
