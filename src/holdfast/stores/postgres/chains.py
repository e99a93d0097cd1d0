"""Chains: read whole, held by their last job, and what their end means for the jobs that wait for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from holdfast import failure
from holdfast.errors import ChainNotFound
from holdfast.job import ChainRecord
from holdfast.sql.plan import Plan, Statement
from holdfast.stores.postgres.rows import SQL, chain
from holdfast.stores.postgres.turn import Turn

_CHAINS = SQL["chains"]
_TAILS = SQL["tails"]
_LOCK = SQL["lock_jobs"]
_DEPENDENTS = SQL["dependents"]
_UNBLOCK = SQL["unblock"]
_BROKEN = SQL["broken_dependents"]
_FAIL = SQL["fail_blocked"]


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


def hold(ids: Collection[str]) -> Plan[dict[str, Tail]]:
    """The last jobs of these chains, locked until the transaction ends; so the chains cannot grow, end or go.

    Who waited for a lock may find that the chain has grown meanwhile, so the answer is looked up again under it.
    """
    held: set[int] = set()
    while True:
        tails = {row[0]: Tail(*row) for row in (yield Statement(_TAILS, {"ids": list(ids)}))}
        wanted = {tail.seq for tail in tails.values()}
        if wanted <= held:
            return tails
        yield Statement(_LOCK, {"seqs": sorted(wanted)})
        held |= wanted


def hold_all(ids: Sequence[str]) -> Plan[dict[str, Tail]]:
    """The same; the first that is missing raises ChainNotFound."""
    tails = yield from hold(list(dict.fromkeys(ids)))
    _check(ids, tails)
    return tails


def completed(turn: Turn, chain_ids: Sequence[str]) -> Plan[list[tuple[str, str, str]]]:
    """Count chains off for every job that waits for them; answers (chain, id, type) of those that wait no longer.

    The last jobs of the chains are locked, so nobody can begin to wait for them meanwhile.
    """
    seqs = [seq for (seq,) in (yield Statement(_DEPENDENTS, {"chain_ids": list(chain_ids)}))]
    if not seqs:
        return []
    yield Statement(_LOCK, {"seqs": sorted(seqs)})
    unblocked: list[tuple[str, str, str]] = []
    for row in sorted((yield Statement(_UNBLOCK, {"chain_ids": list(chain_ids), "now": turn.now}))):
        _, id, chain_id, type, attempt, worker, freed = row
        if freed:
            unblocked.append((chain_id, id, type))
            turn.hints.due.add(type)
            turn.record("unblocked", id, chain_id, type, attempt, worker)
    return unblocked


def broken(turn: Turn, chain_ids: Iterable[str]) -> Plan[None]:
    """Chains failed or were cancelled: fail the blocked jobs that asked for it, and so on from them."""
    for root in chain_ids:
        chains = [root]
        while chains:
            chain_id = chains.pop()
            seqs = [seq for (seq,) in (yield Statement(_BROKEN, {"chain_id": chain_id}))]
            if seqs:
                yield Statement(_LOCK, {"seqs": seqs})
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
