"""Complete the current job of a chain from outside a worker."""

from __future__ import annotations

from holdfast.core.record import FINISHED, Record
from holdfast.engine.operations import Complete, LockChain, Settled
from holdfast.errors import AlreadyCompleted, ChainNotFound
from holdfast.stores.postgres.plan import Begin, Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL, record
from holdfast.stores.postgres.verbs import blockers, chain_ends, chains, dedup, dependencies, locks, start
from holdfast.stores.postgres.verbs.audit import write_audit
from holdfast.stores.sql.lane_releases import announce_releases
from holdfast.stores.sql.plan import Statement

_RECORDS = SQL["records"]
_COMPLETE = SQL["complete"]
_LOCK_KEYS = SQL["lock_keys"]

_ADMISSION = "\x1fcompleting"
"""The type of the keys that admit one completion of a chain at a time. No job type has a name like this."""


def lock(context: PlanContext, op: LockChain) -> Plan[Record]:
    """Lock the current job while the code of the application runs.

    Two completions that name each other's chain as a blocker must not wait for each other. So the job is only guarded,
    and the lock of a key admits one completion of a chain at a time. The attempt of a running job has its own guard,
    and only the attempt or the completion can end the job. So a running job is locked as one that will change.
    """
    yield Begin()

    def find() -> Plan[tuple[chains.Tail | None, locks.Wanted]]:
        tail = (yield from chains.tails([op.chain_id])).get(op.chain_id)
        if tail is None:
            return None, locks.Wanted([])
        if tail.status == "running":
            return tail, locks.Wanted([tail.seq])
        return tail, locks.Wanted([], guarded=[tail.seq])

    def wait_for_others() -> Plan[None]:
        yield Statement(_LOCK_KEYS, {"types": [_ADMISSION], "keys": [op.chain_id], "now": context.clock})

    tail = yield from locks.lock(context, find, keys=wait_for_others)
    if tail is None:
        raise ChainNotFound(op.chain_id)
    (row,) = yield Statement(_RECORDS, {"seqs": [tail.seq]})
    return record(row)


def complete(context: PlanContext, op: Complete) -> Plan[Settled]:
    yield from context.begin()
    tail, found = yield from _lock_and_check(context, op)
    yield from write_audit(context, op.audit, "complete", [(tail.id, op.chain_id)])
    if op.starts:
        yield from start.create_new(context, op.starts, found)
    if op.completions and tail.status == "running":
        context.hints.lost.add(tail.id)
    # A chain that this operation starts may wait for this one, so `awaited` is read after the start.
    tail = (yield from chains.tails([op.chain_id]))[op.chain_id]
    yield from _write_completions(context, op, tail)
    unblocked: list[tuple[str, str]] = []
    if op.completions and op.completions[-1].continuation is None:
        context.hints.finished.add(op.chain_id)
        if tail.awaited:
            freed = yield from chain_ends.unblock_dependents(context, [op.chain_id])
            unblocked = [(job.id, job.type) for job in freed]
    yield from announce_releases(context, SQL)
    yield from context.write_events()
    return Settled(unblocked=tuple(unblocked))


def _lock_and_check(context: PlanContext, op: Complete) -> Plan[tuple[chains.Tail, list[str | None]]]:
    """Lock the current job, all jobs that its completion changes, and the keys of new chains.

    Returns the current job, and the existing chains that the starts find. Raises an error if the operation is refused.
    """
    following = [completion.continuation for completion in op.completions if completion.continuation is not None]
    chain = dependencies.Continuations(following, op.starts, op.expected)
    endings = blockers.possible_endings(following)
    if len(following) < len(op.completions):
        endings.append("completed")
    tails = yield from chains.lock_existing(
        context,
        [op.chain_id],
        endings=endings,
        beside=blockers.chain_ids([*op.starts, *following]),
        keys=dedup.lock_keys(context, op.starts),
        keeping=lambda tails: chain.find_cycles(awaited=op.chain_id in tails and tails[op.chain_id].awaited),
    )
    tail = tails[op.chain_id]
    if tail.id != op.job_id or tail.status in FINISHED:
        raise AlreadyCompleted(op.chain_id)
    found, refused = yield from start.check_starts(context, op.starts, op.expected)
    started = {id: job.type for id, job in zip(op.expected, op.starts, strict=True)}
    for completion in op.completions:
        if refused is None and completion.continuation is not None:
            refused = yield from blockers.refused(completion.continuation, started)
            refused = refused or chain.cycles.get(completion.continuation.id)
    if refused is not None:
        raise refused
    return tail, found


def _write_completions(context: PlanContext, op: Complete, tail: chains.Tail) -> Plan[None]:
    """Complete the current job, and the jobs that follow it in this operation."""
    seq = tail.seq
    for completion in op.completions:
        current = seq
        if completion.continuation is not None:
            awaited = {op.chain_id} if tail.awaited else set[str]()
            (seq,) = (yield from start.add(context, [completion.continuation], awaited=awaited)).seqs
        ends = completion.continuation is None
        parameters = {"seq": current, "output": completion.output, "ends": ends, "now": context.now}
        ((id, type, attempt),) = yield Statement(_COMPLETE, parameters | {"admission": _ADMISSION})
        context.record("completed", id, op.chain_id, type, attempt)
