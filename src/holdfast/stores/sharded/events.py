"""Events of all shards: the seq of an event is the seqs of the shards in one number."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import islice

from msgspec.structs import replace

from holdfast.engine.operations import EventRow, Listen, ReadEvents, Unlisten
from holdfast.stores.sharded.paging import pack, unpack
from holdfast.stores.sharded.plan import Plan, all_of, available


def listen(names: Sequence[str], operation: Listen) -> Plan[int]:
    """Listen on every shard. The seq of a shard that does not answer is 0: it is listened to again later."""
    answers: dict[str, int] = yield from available(dict.fromkeys(names, operation))
    return _pack([answers.get(name, 0) for name in names])


def unlisten(names: Sequence[str], operation: Unlisten) -> Plan[None]:
    yield from all_of(dict.fromkeys(names, operation))


def read_events(names: Sequence[str], operation: ReadEvents, up: Sequence[str]) -> Plan[list[EventRow]]:
    """Events by time. A shard that does not answer contributes none, and continues where it stopped."""
    after = unpack(operation.after, len(names)) if operation.after else [0] * len(names)
    positions = dict(zip(names, after, strict=True))
    answers: dict[str, list[EventRow]] = yield from available(
        {name: replace(operation, after=positions[name]) for name in up}
    )
    # The order within a shard stays: a position must not pass an event that is not delivered.
    rows = heapq.merge(
        *([(name, row) for row in found] for name, found in answers.items()), key=lambda each: each[1].at
    )
    merged: list[EventRow] = []
    for name, row in islice(rows, operation.limit):
        positions[name] = row.seq
        merged.append(row._replace(seq=_pack([positions[each] for each in names])))
    return merged


def _pack(positions: Sequence[int]) -> int:
    """The positions as one number: 0 before the first event of all shards."""
    return pack(positions) if any(positions) else 0
