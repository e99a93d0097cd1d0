"""Chains: reading them, and locking them by their last job."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Literal, NamedTuple

from holdfast.core.record import ChainRecord
from holdfast.errors import ChainNotFound
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL, chain
from holdfast.stores.postgres.verbs import locks
from holdfast.stores.sql.plan import Statement

_CHAINS = SQL["chains"]
_TAILS = SQL["tails"]
_REACH = SQL["reach"]


Ending = Literal["completed", "failing"]
"""How chains end. A completion changes all dependents. A failure changes those that do not wait for completions."""


class Tail(NamedTuple):
    """The last job of a chain."""

    chain_id: str
    seq: int
    id: str
    status: str
    awaited: bool


def read(ids: Iterable[str]) -> Plan[dict[str, ChainRecord]]:
    """The chains with these ids that exist, by id."""
    rows = yield Statement(_CHAINS, {"ids": list(ids)})
    return {each.first.id: each for each in map(chain, rows)}


def read_existing(ids: Sequence[str]) -> Plan[list[ChainRecord]]:
    """The chains with these ids, in order. Raises ChainNotFound for the first that does not exist."""
    found = yield from read(ids)
    _check(ids, found)
    return [found[chain_id] for chain_id in ids]


def lock(
    context: PlanContext,
    ids: Collection[str],
    *,
    endings: Collection[Ending] = (),
    beside: Collection[str] = (),
    keys: Callable[[], Plan[None]] | None = None,
    keeping: Callable[[dict[str, Tail]], Plan[set[int]]] | None = None,
) -> Plan[dict[str, Tail]]:
    """Lock the last jobs of these chains until the transaction ends: the chains cannot grow, finish or be deleted.

    If the chains may end, all jobs that this affects are locked too, so that no job can begin to wait for the chains.
    The last jobs of the chains `beside`, and the jobs that `keeping` names, are locked as kept: see `locks.Wanted`.
    """
    named = list(dict.fromkeys([*ids, *beside]))

    def find() -> Plan[tuple[dict[str, Tail], locks.Wanted]]:
        found = yield from tails(named)
        changed = {found[id].seq for id in ids if id in found}
        for ending in endings:
            changed |= yield from affected_jobs([id for id in ids if id in found and found[id].awaited], ending)
        kept = {found[id].seq for id in beside if id in found}
        if keeping is not None:
            kept |= yield from keeping(found)
        return found, locks.Wanted(changed, kept)

    return (yield from locks.lock(context, find, keys=keys))


def lock_existing(
    context: PlanContext,
    ids: Sequence[str],
    *,
    endings: Collection[Ending] = (),
    beside: Collection[str] = (),
    keys: Callable[[], Plan[None]] | None = None,
    keeping: Callable[[dict[str, Tail]], Plan[set[int]]] | None = None,
) -> Plan[dict[str, Tail]]:
    """As `lock`, but raises ChainNotFound for the first chain that does not exist."""
    found = yield from lock(context, ids, endings=endings, beside=beside, keys=keys, keeping=keeping)
    _check(ids, found)
    return found


def tails(ids: Collection[str]) -> Plan[dict[str, Tail]]:
    """The last jobs of these chains, by chain. Chains that do not exist are left out."""
    if not ids:
        return {}
    return {row[0]: Tail(*row) for row in (yield Statement(_TAILS, {"ids": list(ids)}))}


def affected_jobs(chain_ids: Sequence[str], ending: Ending) -> Plan[set[int]]:
    """The jobs that the end of these chains affects."""
    if not chain_ids:
        return set()
    rows = yield Statement(_REACH, {"chain_ids": list(chain_ids), "failing": ending == "failing"})
    return {seq for (seq,) in rows}


def _check(ids: Iterable[str], found: Collection[str]) -> None:
    for chain_id in ids:
        if chain_id not in found:
            raise ChainNotFound(chain_id)
