"""Count the chains that a filter matches, and fix them as the members of a bulk action."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from holdfast.bulk.actions import Action, narrowed
from holdfast.bulk.names import BULK_TYPES
from holdfast.core.record import ChainRecord, Status
from holdfast.engine.operations import Filter, GetStats, ListChains, TypeStats
from holdfast.engine.store import Store
from holdfast.errors import HoldfastError

MOST: Final = 100_000
"""The largest number of members of a bulk action. If more chains match, the newest are members."""
MOST_BYTES: Final = 8 << 20
"""The largest total size of the ids of all members, in bytes: they are the input of a job."""
SHOWN: Final = 20
PREVIEW_SECONDS: Final = 0.04
FIX_SECONDS: Final = 20.0
_PAGE: Final = 1000
_PREVIEW_PAGE: Final = 250
"""The size of a page. It is small, because a count ends only after the page in which its time is over."""


class FilterTooBroad(HoldfastError):
    """The filter reads too many rows. Nothing was changed."""

    def __init__(self) -> None:
        super().__init__("the filter reads too many rows: narrow it, for example by type, status or age")


@dataclass(frozen=True, slots=True)
class Preview:
    """What a bulk action would change: how many chains, and the newest of them.

    `complete` is False if there are more: the count stopped at the maximum, or at its time limit. The action changes
    at most `MOST` of them.
    """

    count: int = 0
    complete: bool = True
    shown: Sequence[ChainRecord] = ()
    types: Sequence[str] = ()
    """The types of the current jobs: what `pause` would pause."""
    from_counts: bool = False
    """Whether `count` comes from the counts of the store, which may be some seconds old."""


@dataclass(slots=True)
class Members:
    """Chains by their status, and the types of their current jobs."""

    by_status: dict[Status, list[str]] = field(default_factory=lambda: {})  # noqa: PIE807 - typed by its annotation
    types: set[str] = field(default_factory=lambda: set())
    count: int = 0
    size: int = 0
    complete: bool = True

    def add(self, chain: ChainRecord) -> bool:
        """Whether there was room for the chain."""
        size = len(chain.first.id.encode()) + 3
        if self.count == MOST or self.size + size > MOST_BYTES:
            self.complete = False
            return False
        self.by_status.setdefault(chain.last.status, []).append(chain.first.id)
        self.types.add(chain.last.type)
        self.count += 1
        self.size += size
        return True


async def preview(
    store: Store,
    action: Action,
    chosen: Filter,
    stats: Sequence[TypeStats] | None = None,
    *,
    seconds: float = PREVIEW_SECONDS,
) -> Preview:
    """Count the chains that the action would change, for a limited time.

    `stats`: the counts of the store that the caller has already read.
    """
    # If all counts are 0, the list is read: the counts of the caller may be some seconds old.
    counted = await _counted(store, action, chosen, stats) or None
    members = Members()
    shown: list[ChainRecord] = []
    try:
        page = _PREVIEW_PAGE if counted is None else SHOWN + 1
        async for chain in _matching(store, action, chosen, seconds, page=page):
            if not members.add(chain):
                break
            if len(shown) < SHOWN:
                shown.append(chain)
            elif counted is not None:
                break
    except FilterTooBroad:
        members.complete = False
    if counted is not None:
        return Preview(sum(counted.values()), True, shown, sorted(counted), from_counts=True)
    return Preview(members.count, members.complete, shown, sorted(members.types))


async def _counted(
    store: Store, action: Action, chosen: Filter, stats: Sequence[TypeStats] | None
) -> dict[str, int] | None:
    """The number of chains per type, from the counts of the store. None if they do not know the filter.

    A job that is not completed is the last one of its chain, so the jobs with a status are as many as the chains.
    """
    usable = narrowed(action, chosen)
    if usable is None or Status.COMPLETED in usable.statuses:
        return None
    if usable != Filter(statuses=usable.statuses, scheduled=usable.scheduled, types=usable.types):
        return None
    if stats is None:
        stats = await store.perform(GetStats())
    rows = [row for row in stats if row.type not in BULK_TYPES]
    found = {
        row.type: row.scheduled if usable.scheduled else sum(row.counts.get(status, 0) for status in usable.statuses)
        for row in rows
        if not usable.types or row.type in usable.types
    }
    return {type: number for type, number in found.items() if number}


async def fix(store: Store, action: Action, chosen: Filter, *, seconds: float = FIX_SECONDS) -> Members:
    """The chains that the action will change, newest first, at most `MOST`. Raises FilterTooBroad."""
    members = Members()
    async for chain in _matching(store, action, chosen, seconds, page=_PAGE):
        if not members.add(chain):
            break
    return members


async def _matching(
    store: Store, action: Action, chosen: Filter, seconds: float, *, page: int
) -> AsyncGenerator[ChainRecord]:
    """The chains on which the action can work. The chains of bulk actions are left out."""
    usable = narrowed(action, chosen)
    if usable is None:
        return
    ends = monotonic() + seconds
    before: int | None = None
    while True:
        found = await store.perform(ListChains(usable, page, before))
        for chain in found:
            if chain.first.type not in BULK_TYPES:
                yield chain
        before = found.next_before
        if before is None:
            return
        if monotonic() > ends:
            raise FilterTooBroad
