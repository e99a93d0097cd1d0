"""Write the outcomes of attempts, each under its claim.

Most outcomes concern one row, and one statement writes any number of them. What reaches further, to chains that are
started along with it or to jobs that wait for its chain, is a transaction of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from holdfast.core.lifecycle import Settlement
from holdfast.core.lost_claims import lost_reason
from holdfast.core.record import Status
from holdfast.engine.operations import Settle, Settled
from holdfast.stores.postgres.execution import BEGIN, COMMIT, Turn
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs import blockers, chains, dedup, dependencies, locks, start
from holdfast.stores.postgres.verbs.settle_statements import Stood, Write, completed, continued, ended
from holdfast.stores.sql.plan import Plan, Statement

_SETTLING = SQL["settling"]
_WAIT_FOR = SQL["wait_for"]

_WRITTEN = Settled()


def settle(turn: Turn, op: Settle) -> Plan[list[Settled]]:
    answers = [_WRITTEN] * len(op.settlements)
    left: dict[int, Settlement] = dict(enumerate(op.settlements))
    while left:
        # Each job once at a time: a settlement sent twice finds what the first one wrote.
        firsts = {settlement.claim.job_id: place for place, settlement in reversed(left.items())}
        batch = left if len(firsts) == len(left) else {place: left[place] for place in sorted(firsts.values())}
        left = {place: settlement for place, settlement in left.items() if place not in batch}
        yield from _settle(turn, batch, answers)
    return answers


def _settle(turn: Turn, settlements: dict[int, Settlement], answers: list[Settled]) -> Plan[None]:
    """Write the outcomes of different jobs; answers all that are not simply written."""
    kinds: dict[Write, dict[int, Settlement]] = {}
    wide: dict[int, Settlement] = {}
    awaited: dict[int, Settlement] = {}
    for place, settlement in settlements.items():
        following = settlement.continuation
        if settlement.starts or (following is not None and following.after):
            wide[place] = settlement
        elif settlement.status is not Status.COMPLETED:
            kinds.setdefault(ended, {})[place] = settlement
        else:
            kinds.setdefault(completed if following is None else continued, {})[place] = settlement
    for write, batch in kinds.items():
        others = yield from _write(turn, write, batch.values())
        for place, settlement in batch.items() if others else ():
            if (id := settlement.claim.job_id) not in others:
                continue
            if (answer := _standing(turn, settlement, others[id])) is not None:
                answers[place] = answer
            else:
                (awaited if write is completed else wide)[place] = settlement
    if awaited:
        yield from _complete_awaited(turn, awaited, answers)
    for place in sorted(wide):
        answers[place] = yield from _settle_widely(turn, wide[place])


def _write(turn: Turn, write: Write, settlements: Collection[Settlement]) -> Plan[dict[str, Stood | None]]:
    """Write these outcomes; answers how the jobs stood whose outcomes were not, since they reach further or may not be.

    What is written is told as it comes: if the rest fails, it stands all the same. Jobs that somebody holds are passed
    over at first. Who waits for one of them holds none of the others.
    """
    left = {settlement.claim.job_id: settlement for settlement in settlements}
    others: dict[str, Stood | None] = {}
    rows = yield write(turn, list(settlements))
    while True:
        turn.receive(rows)
        for id, status, token, awaited, chain_id, type, recorded in rows:
            settlement = left.pop(id)
            found = Stood(status, token, awaited, chain_id, type)
            turn.hints.recorded |= recorded
            if lost_reason(status, token, settlement.claim.token) or (awaited and _is_left(write, settlement)):
                others[id] = found
            else:
                _emit(turn, settlement, found)
        if not left:
            return others
        awaited = next(iter(left))
        turn.voice = None  # within a transaction it would be heard with the commit, and hold up those of others
        # One transaction: given back in between, the job would be the next one's who waits for it, and so on for ever.
        yield BEGIN
        if (yield Statement(_WAIT_FOR, {"id": awaited})):
            rows = yield write(turn, list(left.values()))
        else:
            del left[awaited]  # there is no such job any more
            others[awaited] = None
            rows = []
        yield COMMIT


def _is_left(write: Write, settlement: Settlement) -> bool:
    """Whether the statement leaves alone an outcome whose chain is waited for: since it ends."""
    return write is completed or (write is ended and _ends(settlement))


def _complete_awaited(turn: Turn, settlements: dict[int, Settlement], answers: list[Settled]) -> Plan[None]:
    """Complete chains that others wait for, all in one transaction, under the locks of everything it touches."""
    yield from turn.begin()
    stood = yield from _hold(turn, [settlement.claim.job_id for settlement in settlements.values()], ["completed"])
    places: dict[str, int] = {}
    """By chain, of those that are written."""
    for place, settlement in settlements.items():
        found = stood.get(settlement.claim.job_id)
        if (answer := _standing(turn, settlement, found)) is not None:
            answers[place] = answer
        else:
            assert found is not None
            places[found.chain_id] = place
            _emit(turn, settlement, found)
    if places:
        rows = yield completed(turn, [settlements[place] for place in places.values()], all=True)
        turn.hints.recorded |= rows[0][6]
        unblocked: dict[int, list[tuple[str, str]]] = {place: [] for place in places.values()}
        for job in (yield from chains.completed(turn, list(places))):
            # Whoever came last has freed it.
            unblocked[max(places[chain_id] for chain_id in job.after)].append((job.id, job.type))
        for place, jobs in unblocked.items():
            answers[place] = Settled(unblocked=tuple(jobs))
        yield from turn.recorded()
    yield COMMIT


def _settle_widely(turn: Turn, settlement: Settlement) -> Plan[Settled]:
    """Write one settlement and all that follows from it, under the locks of everything it touches."""
    yield from turn.begin()
    following = settlement.continuation
    endings: Sequence[chains.Ending]
    if following is not None:
        endings = blockers.endings_of([following])
    elif _ends(settlement):
        endings = ["completed" if settlement.status is Status.COMPLETED else "failing"]
    else:
        endings = []
    chain = dependencies.Following([] if following is None else [following], settlement.starts)
    stood = yield from _hold(
        turn,
        [settlement.claim.job_id],
        endings,
        chain=chain,
        beside=blockers.named([*settlement.starts, *([] if following is None else [following])]),
        keys=dedup.keys_of(turn, settlement.starts),
    )
    found = stood.get(settlement.claim.job_id)
    if (answer := _standing(turn, settlement, found)) is not None:
        yield COMMIT
        return answer
    assert found is not None
    starts, refused = yield from start.check_starts(turn, settlement.starts, settlement.expected)
    if refused is None and following is not None:
        refused = (yield from blockers.missing(following, settlement.expected)) or chain.cycles.get(following.id)
    if refused is not None:
        yield COMMIT
        return Settled(refused=refused)
    if settlement.starts:
        yield from start.create_new(turn, settlement.starts, starts)
    # A chain started along may wait for this one.
    awaited = found.awaited or any(found.chain_id in job.after for job in settlement.starts)
    if following is not None:
        yield from start.add(turn, [following], awaited={found.chain_id} if awaited else ())
    unblocked: list[tuple[str, str]] = []
    write = completed if settlement.status is Status.COMPLETED else ended
    rows = yield write(turn, [settlement], all=True, ends=following is None)
    turn.hints.recorded |= rows[0][6]
    if awaited and _ends(settlement):
        if settlement.status is Status.COMPLETED:
            freed = yield from chains.completed(turn, [found.chain_id])
            unblocked = [(job.id, job.type) for job in freed]
        else:
            yield from chains.broken(turn, [found.chain_id])
    _emit(turn, settlement, found)
    yield from turn.recorded()
    yield COMMIT
    return Settled(unblocked=tuple(unblocked))


def _hold(
    turn: Turn,
    ids: Sequence[str],
    endings: Collection[chains.Ending],
    *,
    beside: Sequence[str] = (),
    keys: Callable[[], Plan[None]] | None = None,
    chain: dependencies.Following | None = None,
) -> Plan[dict[str, Stood]]:
    """How claimed jobs stand, locked with what the end of their chains touches.

    The last jobs of the chains `beside` are kept, and those that the continuation of the chain leads to.
    """
    parameters = {"ids": list(ids), "completing": "completed" in endings, "failing": "failing" in endings}

    def look() -> Plan[tuple[dict[str, Stood], locks.Wanted]]:
        rows = yield Statement(_SETTLING, parameters)
        tails = yield from chains.tails(beside)
        stood = {row[1]: Stood(*row[2:]) for row in rows}
        kept = {tail.seq for tail in tails.values()}
        if chain is not None:
            kept |= yield from chain.look(awaited=any(id in stood and stood[id].awaited for id in ids))
        return stood, locks.Wanted({row[0] for row in rows}, kept)

    return (yield from locks.hold(turn, look, keys=keys))


def _standing(turn: Turn, settlement: Settlement, found: Stood | None) -> Settled | None:
    """The answer to a settlement that is not to be written: its claim is lost, or it stands written already.

    Then it is told again: whoever wrote it may have been cut off before they could.
    """
    token = settlement.claim.token
    status, held_by = (None, None) if found is None else (found.status, found.token)
    reason = lost_reason(status, held_by, token)
    if reason is None:
        return None
    if found is None or (held_by, status) != (token, settlement.status):
        return Settled(lost=reason)
    _emit(turn, settlement, found)
    turn.hints.due.update(job.type for job in settlement.starts)
    # Whom it freed, or took along, nobody knows any more.
    turn.hints.anything |= found.awaited and _ends(settlement)
    return Settled()


def _ends(settlement: Settlement) -> bool:
    """Whether the settlement ends its chain."""
    return settlement.status is not Status.PENDING and settlement.continuation is None


def _emit(turn: Turn, settlement: Settlement, found: Stood) -> None:
    """Gather what a written settlement means for others."""
    following = settlement.continuation
    if settlement.status is Status.PENDING:
        turn.hints.due.add(found.type)
        if settlement.outcome == "released":
            turn.marks.forget()
    elif following is None:
        turn.hints.finished.add(found.chain_id)
    elif not following.after:
        turn.hints.due.add(following.type)
