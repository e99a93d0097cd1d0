"""Any distribution of chains over shards: pages contain each row once, in order, and claims are fair and complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from holdfast.core.ids import new_id_on, new_token
from holdfast.core.record import ChainRecord, Record
from holdfast.engine.operations import (
    ClaimJobs,
    Filter,
    GetStats,
    ListChains,
    Listing,
    ListJobs,
    Settle,
    Start,
    TypeTerms,
)
from holdfast.engine.operations.operation import Operation
from holdfast.stores.memory import MemoryStore
from holdfast.stores.sharded.paging import merge, pack, unpack
from holdfast.stores.sharded.store import ShardedStore
from holdfast.testing.builders import completed, new_job
from holdfast.testing.clock import ManualClock

NAMES = ("a", "b", "c")
PLACES = st.lists(st.sampled_from(NAMES), max_size=40)


def _filled(places: list[str], *, types: tuple[str, ...] = ("resize",)) -> tuple[ShardedStore, list[str]]:
    clock = ManualClock()
    store = ShardedStore({name: MemoryStore() for name in NAMES})
    store.clock = clock
    ids: list[str] = []
    for number, place in enumerate(places):
        clock.advance(1)
        ids.append(new_id_on(place))
        store.perform_sync(Start((new_job(types[number % len(types)], id=ids[-1]),)))
    return store, ids


def _all_pages(
    store: ShardedStore, limit: int, page_before: Callable[[int | None], Operation[Listing[Any]]]
) -> list[str]:
    ids: list[str] = []
    before: int | None = None
    while True:
        page = store.perform_sync(page_before(before))
        assert len(page) <= limit
        ids += [row.first.id if isinstance(row, ChainRecord) else row.id for row in page]
        before = page.next_before
        if before is None:
            return ids


@settings(deadline=None)
@given(PLACES, st.integers(1, 10), st.integers(1, 5), st.booleans())
def test_pages_contain_each_row_once_in_order(places: list[str], limit: int, scan: int, filtered: bool) -> None:
    store, ids = _filled(places, types=("resize", "other"))
    shown = Filter(types=("other",)) if filtered else Filter()
    wanted = ids[1::2] if filtered else ids

    chains = _all_pages(store, limit, lambda before: ListChains(shown, limit, before, scan=scan))
    jobs = _all_pages(store, limit, lambda before: ListJobs(shown, limit, before, scan=scan))

    assert chains == jobs == wanted[::-1]


@settings(deadline=None)
@given(PLACES, st.lists(st.integers(1, 12), min_size=1, max_size=8))
def test_claims_are_complete_and_fair(places: list[str], limits: list[int]) -> None:
    store, ids = _filled(places)
    left = Counter(places)
    claimed: list[str] = []

    for limit in limits:
        terms = (TypeTerms("resize", 60_000_000, 25),)
        jobs = store.perform_sync(ClaimJobs(terms, limit, "worker", new_token()))
        taken = Counter(job.id.partition("~")[0] for job in jobs)
        assert len(jobs) == min(limit, left.total())
        share = limit // len(NAMES)
        assert all(taken[name] >= min(share, left[name]) for name in NAMES)
        left -= taken
        claimed += [job.id for job in jobs]
        assert all(settled.written for settled in store.perform_sync(Settle(tuple(map(completed, jobs)))))

    assert len({*claimed}) == len(claimed)
    assert {*claimed} <= {*ids}
    assert sum(row.due for row in store.perform_sync(GetStats())) == left.total()


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=8))
def test_positions_survive_packing(positions: list[int]) -> None:
    assert unpack(pack(positions), len(positions)) == positions


def test_a_shard_that_must_read_further_holds_back_older_rows_of_others() -> None:
    store, _ = _filled(["b"])
    (row,) = store.perform_sync(ListJobs(Filter(), 1))
    unread: Listing[Record] = Listing()
    unread.next_before = 7  # there may be rows before this position that are newer than those of the others
    found: Listing[Record] = Listing([row])
    positions = {"a": 9, "b": 9}

    assert merge({"a": unread, "b": found}, positions, 10) == []
    assert positions == {"a": 7, "b": row.seq + 1}
