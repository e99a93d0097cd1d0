"""Lists over all shards, newest first: the position of a list is the positions of the shards in one number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from holdfast.core.record import ChainRecord, Record
from holdfast.engine.operations import ListChains, Listing, ListJobs
from holdfast.stores.sharded.plan import Plan, all_of
from holdfast.stores.sharded.routing import Routing

_BITS: Final = 64
_END: Final = 0
"""The position of a shard whose list has ended. The seqs of a store begin with 1."""
_BEGIN: Final = (1 << _BITS) - 1
"""The position of a shard from which nothing was read yet."""


def pack(positions: Sequence[int]) -> int:
    """Positions as one number. The leading 1 keeps the number of positions."""
    packed = 1
    for position in positions:
        packed = packed << _BITS | position
    return packed


def unpack(packed: int, count: int) -> list[int]:
    """The positions in a number. ValueError if it contains another number of them."""
    if packed >> _BITS * count != 1:
        raise ValueError("this is no position in a list of these shards: begin the list again")
    mask = (1 << _BITS) - 1
    return [packed >> _BITS * (count - 1 - place) & mask for place in range(count)]


def list_rows(routing: Routing, operation: ListChains | ListJobs) -> Plan[Listing[Any]]:
    """The newest rows of all shards. A shard contributes no row that is older than one that it has not read yet."""
    one = _only_shard(routing, operation)
    if one is not None:
        answers = yield from all_of({one: operation})
        return answers[one]  # type: ignore[no-any-return]
    names = routing.names
    count = len(names)
    before = [_BEGIN] * count if operation.before is None else unpack(operation.before, count)
    positions = dict(zip(names, before, strict=True))
    asked = {
        name: replace(operation, before=None if position == _BEGIN else position)
        for name, position in positions.items()
        if position != _END
    }
    found: dict[str, Listing[Any]] = yield from all_of(asked)
    listing = merge(found, positions, operation.limit)
    if any(position != _END for position in positions.values()):
        listing.next_before = pack([positions[name] for name in names])
    return listing


def _only_shard(routing: Routing, operation: ListChains | ListJobs) -> str | None:
    """The shard that has all rows of the list: those of a chain, or the chains of a key."""
    shown = operation.filter
    if shown.chain_id is not None:
        return routing.of_id(shown.chain_id)
    if shown.key is not None and len(shown.chain_types) == 1 and isinstance(operation, ListChains):
        return routing.of_key(shown.chain_types[0], shown.key)
    return None


def merge(answers: Mapping[str, Listing[Any]], positions: dict[str, int], limit: int) -> Listing[Any]:
    """The first `limit` rows by creation time. Moves the positions behind them."""
    rows: Listing[Any] = Listing()
    taken = dict.fromkeys(answers, 0)
    while len(rows) < limit:
        heads = {name: listing[taken[name]] for name, listing in answers.items() if taken[name] < len(listing)}
        # Rows behind the end of what a shard has read may be newer than those of the others.
        if not heads or any(name not in heads and each.next_before is not None for name, each in answers.items()):
            break
        newest = max(heads, key=lambda name: _first(heads[name]).created_at)
        rows.append(heads[newest])
        taken[newest] += 1
    for name, listing in answers.items():
        if taken[name] == len(listing):
            positions[name] = _END if listing.next_before is None else listing.next_before
        elif taken[name]:
            positions[name] = _first(listing[taken[name] - 1]).seq
        else:  # rows that are created meanwhile do not belong to this list
            positions[name] = _first(listing[0]).seq + 1
    return rows


def _first(row: Record | ChainRecord) -> Record:
    return row.first if isinstance(row, ChainRecord) else row
