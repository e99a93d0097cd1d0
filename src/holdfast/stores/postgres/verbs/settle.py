"""Settle attempts: write their outcomes, if their claims are still valid.

Most outcomes change one row, and one statement writes any number of them. An outcome that starts other chains, or ends
a chain that jobs wait for, is written in a separate transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from holdfast.core.lifecycle import Settlement
from holdfast.core.lost_claims import lost_reason
from holdfast.core.record import Status
from holdfast.engine.operations import WRITTEN, Settle, Settled
from holdfast.stores.postgres.plan import Begin, Commit, Plan, Result
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs import blockers, chain_ends, chains, dedup, dependencies, locks, start
from holdfast.stores.postgres.verbs.settle_statements import JobState, Write, committing, completed, continued, ended
from holdfast.stores.postgres.verbs.suspend import suspended
from holdfast.stores.sql.plan import Statement

_AFFECTED = SQL["settle_affected"]
_WAIT = SQL["settle_wait"]


def settle(context: PlanContext, op: Settle) -> Plan[list[Settled]]:
    answers = [WRITTEN] * len(op.settlements)
    left: dict[int, Settlement] = dict(enumerate(op.settlements))
    while left:
        # A batch has each job once: a second settlement of the same job must see what the first one wrote.
        firsts = {settlement.claim.job_id: index for index, settlement in reversed(left.items())}
        batch = left if len(firsts) == len(left) else {index: left[index] for index in sorted(firsts.values())}
        left = {index: settlement for index, settlement in left.items() if index not in batch}
        yield from _settle(context, batch, answers, commits=op.commits)
    return answers


def _settle(
    context: PlanContext, settlements: dict[int, Settlement], answers: list[Settled], *, commits: bool
) -> Plan[None]:
    """Write the outcomes of different jobs. Sets the answers that differ from `Settled()`."""
    kinds: dict[Write, dict[int, Settlement]] = {}
    in_transaction: dict[int, Settlement] = {}
    awaited: dict[int, Settlement] = {}
    for index, settlement in settlements.items():
        following = settlement.continuation
        if settlement.starts or (following is not None and (following.after or following.track is not None)):
            in_transaction[index] = settlement
        elif settlement.outcome == "suspended":
            kinds.setdefault(suspended, {})[index] = settlement
        elif settlement.status is not Status.COMPLETED:
            kinds.setdefault(ended, {})[index] = settlement
        else:
            kinds.setdefault(completed if following is None else continued, {})[index] = settlement
    for write, batch in kinds.items():
        lost, skipped = yield from _write(context, write, batch.values(), commits=commits)
        for index, settlement in batch.items() if lost or skipped else ():
            if (id := settlement.claim.job_id) in skipped:
                (awaited if write is completed else in_transaction)[index] = settlement
            elif id in lost and (answer := _answer_if_not_written(context, settlement, lost[id])) is not None:
                answers[index] = answer
    if awaited:
        yield from _complete_awaited(context, awaited, answers)
    for index in sorted(in_transaction):
        answers[index] = yield from _settle_in_transaction(context, in_transaction[index])


def _write(
    context: PlanContext, write: Write, settlements: Collection[Settlement], *, commits: bool = False
) -> Plan[tuple[dict[str, JobState | None], Collection[str]]]:
    """Write these outcomes. Returns the states of the jobs whose claims are lost, and the ids of the skipped jobs.

    A statement skips locked jobs, so that no other job is locked while this plan waits for one. If an outcome that may
    end a chain was skipped, it is not tried again here: the job may be locked, or its chain awaited. Hints are
    collected row by row: if a later statement fails, the earlier ones are still committed.
    """
    left = {settlement.claim.job_id: settlement for settlement in settlements}
    lost: dict[str, JobState | None] = {}
    rows = Result()
    if commits and write in (completed, continued):
        rows = yield committing(context, *settlements)
    if not rows:
        rows = yield write(context, list(settlements))
    while True:
        context.receive(rows)
        for id, status, token, awaited, chain_id, type, recorded in rows:
            settlement = left.pop(id)
            found = JobState(status, token, awaited, chain_id, type)
            context.hints.recorded |= recorded
            if lost_reason(status, token, settlement.claim.token):
                lost[id] = found
            else:
                _add_hints(context, settlement, found)
        if not left or write in (completed, ended):
            return lost, left
        locked = next(iter(left))
        # Wait and write in one transaction: if the lock were released in between, other waiters could get it first.
        yield Begin()
        if (yield Statement(_WAIT, {"id": locked})):
            rows = yield write(context, list(left.values()))
        else:
            del left[locked]  # the job was deleted
            lost[locked] = None
            rows = Result()
        yield Commit()


def _complete_awaited(context: PlanContext, settlements: dict[int, Settlement], answers: list[Settled]) -> Plan[None]:
    """Complete awaited chains, and jobs that were locked, in one transaction with all affected jobs locked."""
    yield from context.begin()
    states = yield from _lock(context, [settlement.claim.job_id for settlement in settlements.values()], ["completed"])
    indexes: dict[str, int] = {}
    """The indexes of the settlements to write, by chain."""
    for index, settlement in settlements.items():
        found = states.get(settlement.claim.job_id)
        if (answer := _answer_if_not_written(context, settlement, found)) is not None:
            answers[index] = answer
        else:
            assert found is not None
            indexes[found.chain_id] = index
            _add_hints(context, settlement, found)
    if indexes:
        rows = yield completed(context, [settlements[index] for index in indexes.values()], all=True)
        context.hints.recorded |= rows[0][-1]
        unblocked: dict[int, list[tuple[str, str]]] = {index: [] for index in indexes.values()}
        for job in (yield from chain_ends.unblock_dependents(context, list(indexes))):
            # The last settlement is the one that unblocked the job.
            unblocked[max(indexes[chain_id] for chain_id in job.after)].append((job.id, job.type))
        for index, jobs in unblocked.items():
            answers[index] = Settled(unblocked=tuple(jobs))
        yield from context.write_events()
    yield Commit()


def _settle_in_transaction(context: PlanContext, settlement: Settlement) -> Plan[Settled]:
    """Write one settlement and all its consequences, with all affected jobs locked."""
    yield from context.begin()
    following = settlement.continuation
    chain = dependencies.Continuations([] if following is None else [following], settlement.starts, settlement.expected)
    states = yield from _lock(
        context,
        [settlement.claim.job_id],
        _possible_endings(settlement),
        chain=chain,
        beside=blockers.chain_ids([*settlement.starts, *([] if following is None else [following])]),
        keys=dedup.lock_keys(context, settlement.starts),
    )
    found = states.get(settlement.claim.job_id)
    answer = _answer_if_not_written(context, settlement, found)
    if answer is None:
        assert found is not None
        existing, refused = yield from start.check_starts(context, settlement.starts, settlement.expected)
        if refused is None and following is not None:
            started = {id: job.type for id, job in zip(settlement.expected, settlement.starts, strict=True)}
            refused = (yield from blockers.refused(following, started)) or chain.cycles.get(following.id)
        if refused is None:
            answer = yield from _write_with_consequences(context, settlement, found, existing)
        else:
            answer = Settled(refused=refused)
    yield Commit()
    return answer


def _possible_endings(settlement: Settlement) -> Sequence[chains.Ending]:
    """How the chain may end in the transaction of the settlement."""
    if settlement.continuation is not None:
        return blockers.possible_endings([settlement.continuation])
    if _ends(settlement):
        return ["completed" if settlement.status is Status.COMPLETED else "failing"]
    return []


def _write_with_consequences(
    context: PlanContext, settlement: Settlement, found: JobState, existing: Sequence[str | None]
) -> Plan[Settled]:
    """Write a settlement that was checked: the side chains, the continuation, the job itself and its dependents."""
    following = settlement.continuation
    if settlement.starts:
        yield from start.create_new(context, settlement.starts, existing)
    # A chain that this settlement starts may wait for this one.
    awaited = found.awaited or any(found.chain_id in job.after for job in settlement.starts)
    if following is not None:
        yield from start.add(context, [following], awaited={found.chain_id} if awaited else ())
    completes = settlement.status is Status.COMPLETED
    rows = yield (completed if completes else ended)(context, [settlement], all=True, ends=following is None)
    context.hints.recorded |= rows[0][-1]
    freed: Sequence[chain_ends.Unblocked] = ()
    if awaited and _ends(settlement):
        update = chain_ends.unblock_dependents if completes else chain_ends.fail_dependents
        freed = yield from update(context, [found.chain_id])
    _add_hints(context, settlement, found)
    yield from context.write_events()
    return Settled(unblocked=tuple((job.id, job.type) for job in freed))


def _lock(
    context: PlanContext,
    ids: Sequence[str],
    endings: Collection[chains.Ending],
    *,
    beside: Sequence[str] = (),
    keys: Callable[[], Plan[None]] | None = None,
    chain: dependencies.Continuations | None = None,
) -> Plan[dict[str, JobState]]:
    """Lock claimed jobs and all jobs that the end of their chains affects. Returns the states of the claimed jobs.

    The last jobs of the chains `beside`, and of the chains that the continuation depends on, are locked too: they can
    neither finish nor be deleted meanwhile.
    """
    parameters = {"ids": list(ids), "completing": "completed" in endings, "failing": "failing" in endings}

    def find() -> Plan[tuple[dict[str, JobState], locks.Wanted]]:
        rows = yield Statement(_AFFECTED, parameters)
        tails = yield from chains.tails(beside)
        states = {row[1]: JobState(*row[2:]) for row in rows}
        kept = {tail.seq for tail in tails.values()}
        if chain is not None:
            kept |= yield from chain.find_cycles(awaited=any(id in states and states[id].awaited for id in ids))
        return states, locks.Wanted({row[0] for row in rows}, kept)

    return (yield from locks.lock(context, find, keys=keys))


def _answer_if_not_written(context: PlanContext, settlement: Settlement, found: JobState | None) -> Settled | None:
    """The answer to a settlement that must not be written: its claim is lost, or it was written by an earlier try.

    In the second case its hints are sent again: the earlier try may have failed before it could send them.
    """
    token = settlement.claim.token
    status, held_by = (None, None) if found is None else (found.status, found.token)
    reason = lost_reason(status, held_by, token)
    if reason is None:
        return None
    if found is None or (held_by, status) != (token, settlement.status):
        return Settled(lost=reason)
    _add_hints(context, settlement, found)
    context.hints.due.update(job.type for job in settlement.starts)
    # The jobs that the earlier try unblocked or failed are unknown.
    context.hints.anything |= found.awaited and _ends(settlement)
    return WRITTEN


def _ends(settlement: Settlement) -> bool:
    """Whether the settlement ends its chain."""
    return settlement.status is not Status.PENDING and settlement.continuation is None


def _add_hints(context: PlanContext, settlement: Settlement, found: JobState) -> None:
    """Add the hints of a written settlement."""
    following = settlement.continuation
    if settlement.status is Status.PENDING:
        context.hints.due.add(found.type)
        if settlement.outcome == "released":
            context.scan_starts.forget()
    elif following is None:
        context.hints.finished.add(found.chain_id)
    elif not following.after:
        context.hints.due.add(following.type)
