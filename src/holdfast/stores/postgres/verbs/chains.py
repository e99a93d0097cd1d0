"""Chains: read whole, held by their last job, and what their end means for the jobs that wait for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Literal, NamedTuple

from holdfast.core import failure
from holdfast.core.record import ChainRecord
from holdfast.errors import ChainNotFound
from holdfast.stores.postgres.execution import Turn
from holdfast.stores.postgres.rows import SQL, chain
from holdfast.stores.postgres.verbs import locks
from holdfast.stores.sql.plan import Plan, Statement

_CHAINS = SQL["chains"]
_TAILS = SQL["tails"]
_REACH = SQL["reach"]
_UNBLOCK = SQL["unblock"]
_BROKEN = SQL["broken_dependents"]
_FAIL = SQL["fail_blocked"]


Ending = Literal["completed", "failing"]
"""How chains end: completed ones are counted off for all who wait, the others may take some of them along."""


class Tail(NamedTuple):
    """The last job of a chain."""

    chain_id: str
    seq: int
    id: str
    status: str
    awaited: bool


def read(ids: Iterable[str]) -> Plan[dict[str, ChainRecord]]:
    """The chains with these ids, as far as there are such."""
    rows = yield Statement(_CHAINS, {"ids": list(ids)})
    return {row[1]: chain(row) for row in rows}


def need(ids: Sequence[str]) -> Plan[list[ChainRecord]]:
    """The chains with these ids, in order. The first that is missing raises ChainNotFound."""
    found = yield from read(ids)
    _check(ids, found)
    return [found[chain_id] for chain_id in ids]


def hold(
    turn: Turn,
    ids: Collection[str],
    *,
    endings: Collection[Ending] = (),
    beside: Collection[str] = (),
    keys: Callable[[], Plan[None]] | None = None,
    keeping: Callable[[dict[str, Tail]], Plan[set[int]]] | None = None,
) -> Plan[dict[str, Tail]]:
    """The last jobs of these chains, locked until the transaction ends; so the chains cannot grow, end or go.

    Where the chains may end, the jobs that this touches are locked along with them: no job can begin to wait for them
    after that. The last jobs of the chains `beside`, and the jobs that `keeping` names, are kept.
    """
    named = list(dict.fromkeys([*ids, *beside]))

    def look() -> Plan[tuple[dict[str, Tail], locks.Wanted]]:
        found = yield from tails(named)
        changed = {found[id].seq for id in ids if id in found}
        for ending in endings:
            changed |= yield from reach([id for id in ids if id in found and found[id].awaited], ending)
        kept = {found[id].seq for id in beside if id in found}
        if keeping is not None:
            kept |= yield from keeping(found)
        return found, locks.Wanted(changed, kept)

    return (yield from locks.hold(turn, look, keys=keys))


def hold_all(
    turn: Turn,
    ids: Sequence[str],
    *,
    endings: Collection[Ending] = (),
    beside: Collection[str] = (),
    keys: Callable[[], Plan[None]] | None = None,
    keeping: Callable[[dict[str, Tail]], Plan[set[int]]] | None = None,
) -> Plan[dict[str, Tail]]:
    """The same; the first that is missing raises ChainNotFound."""
    found = yield from hold(turn, ids, endings=endings, beside=beside, keys=keys, keeping=keeping)
    _check(ids, found)
    return found


def tails(ids: Collection[str]) -> Plan[dict[str, Tail]]:
    """The last jobs of these chains as they stand, as far as there are such."""
    if not ids:
        return {}
    return {row[0]: Tail(*row) for row in (yield Statement(_TAILS, {"ids": list(ids)}))}


def reach(chain_ids: Sequence[str], ending: Ending) -> Plan[set[int]]:
    """The jobs that the end of these chains touches."""
    if not chain_ids:
        return set()
    rows = yield Statement(_REACH, {"chain_ids": list(chain_ids), "failing": ending == "failing"})
    return {seq for (seq,) in rows}


class Freed(NamedTuple):
    """A job that waits no longer, and the chains that were counted off for it."""

    id: str
    type: str
    after: Sequence[str]


def completed(turn: Turn, chain_ids: Sequence[str]) -> Plan[list[Freed]]:
    """Count chains off for every job that waits for them; answers those that wait no longer.

    The last jobs of the chains are locked, and so are those that wait for them.
    """
    unblocked: list[Freed] = []
    for row in sorted((yield Statement(_UNBLOCK, {"chain_ids": list(chain_ids), "now": turn.now}))):
        _, id, chain_id, type, attempt, worker, freed, after = row
        if freed:
            unblocked.append(Freed(id, type, after))
            turn.hints.due.add(type)
            turn.record("unblocked", id, chain_id, type, attempt, worker)
    return unblocked


def broken(turn: Turn, chain_ids: Iterable[str]) -> Plan[None]:
    """Chains failed or were cancelled: fail the blocked jobs that asked for it, and so on from them. All are locked."""
    for root in chain_ids:
        chains = [root]
        while chains:
            chain_id = chains.pop()
            seqs = [seq for (seq,) in (yield Statement(_BROKEN, {"chain_id": chain_id}))]
            if seqs:
                chains += yield from fail(turn, seqs, chain_id)


def fail(turn: Turn, seqs: Sequence[int], blocker: str) -> Plan[list[str]]:
    """Fail locked jobs with the chain they waited for; answers those of their chains that are waited for in turn."""
    error = failure.write("BlockerFailed", f"chain {blocker}, which this job waited for, did not complete")
    awaited_chains: list[str] = []
    for row in sorted((yield Statement(_FAIL, {"seqs": list(seqs), "error": error, "now": turn.now}))):
        _, id, chain_id, type, attempt, worker, awaited = row
        turn.hints.finished.add(chain_id)
        turn.record("failed", id, chain_id, type, attempt, worker)
        if awaited:
            awaited_chains.append(chain_id)
    return awaited_chains


def _check(ids: Iterable[str], found: Collection[str]) -> None:
    for chain_id in ids:
        if chain_id not in found:
            raise ChainNotFound(chain_id)
