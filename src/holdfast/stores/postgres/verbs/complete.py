"""Complete a chain's current job from outside."""

from __future__ import annotations

from holdfast.core.record import FINISHED, Record
from holdfast.engine.operations import Complete, LockChain, Settled
from holdfast.errors import AlreadyCompleted
from holdfast.stores.postgres.execution import BEGIN, Turn
from holdfast.stores.postgres.rows import SQL, record
from holdfast.stores.postgres.verbs import blockers, chains, dedup, dependencies, start
from holdfast.stores.sql.plan import Plan, Statement

_RECORDS = SQL["records"]
_COMPLETE = SQL["complete"]


def lock(turn: Turn, op: LockChain) -> Plan[Record]:
    yield BEGIN
    tails = yield from chains.hold_all(turn, [op.chain_id])
    (row,) = yield Statement(_RECORDS, {"seqs": [tails[op.chain_id].seq]})
    return record(row)


def complete(turn: Turn, op: Complete) -> Plan[Settled]:
    yield from turn.begin()
    following = [completion.continuation for completion in op.completions if completion.continuation is not None]
    chain = dependencies.Following(following, op.starts)
    endings = blockers.endings_of(following)
    if len(following) < len(op.completions):
        endings.append("completed")
    tails = yield from chains.hold_all(
        turn,
        [op.chain_id],
        endings=endings,
        beside=blockers.named([*op.starts, *following]),
        keys=dedup.keys_of(turn, op.starts),
        keeping=lambda tails: chain.look(awaited=op.chain_id in tails and tails[op.chain_id].awaited),
    )
    tail = tails[op.chain_id]
    if tail.id != op.job_id or tail.status in FINISHED:
        raise AlreadyCompleted(op.chain_id)
    found, refused = yield from start.check_starts(turn, op.starts, op.expected)
    for completion in op.completions:
        if refused is None and completion.continuation is not None:
            refused = yield from blockers.missing(completion.continuation, op.expected)
            refused = refused or chain.cycles.get(completion.continuation.id)
    if refused is not None:
        raise refused
    if op.starts:
        yield from start.create_new(turn, op.starts, found)
    if op.completions and tail.status == "running":
        turn.hints.lost.add(tail.id)
    # A chain started along may wait for this one, so whether anybody does is looked up after it.
    tail = (yield from chains.tails([op.chain_id]))[op.chain_id]
    seq = tail.seq
    for completion in op.completions:
        current = seq
        if completion.continuation is not None:
            awaited = {op.chain_id} if tail.awaited else set[str]()
            (seq,) = (yield from start.add(turn, [completion.continuation], awaited=awaited)).seqs
        ends = completion.continuation is None
        parameters = {"seq": current, "output": completion.output, "ends": ends, "now": turn.now}
        ((id, type, attempt),) = yield Statement(_COMPLETE, parameters)
        turn.record("completed", id, op.chain_id, type, attempt)
    unblocked: list[tuple[str, str]] = []
    if op.completions and op.completions[-1].continuation is None:
        turn.hints.finished.add(op.chain_id)
        if tail.awaited:
            freed = yield from chains.completed(turn, [op.chain_id])
            unblocked = [(job.id, job.type) for job in freed]
    yield from turn.recorded()
    return Settled(unblocked=tuple(unblocked))
