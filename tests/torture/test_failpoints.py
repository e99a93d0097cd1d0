"""Failpoints: a point of the sweep is applied once and recorded."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from holdfast import Client, Jobs, StoreUnavailable
from holdfast.stores.address import open_store
from torture.failpoint_sweep import PRODUCER_VERBS, WORKER_VERBS, Sweep, producer_points, worker_points
from torture.failpoints import Watch
from torture.history import History, read
from torture.settings import Failpoints
from torture.watched_store import WatchedStore


def test_a_point_of_the_sweep_is_applied_once_and_recorded(tmp_path: Path) -> None:
    history = History(tmp_path, "worker-0-1")
    watch = Watch(history, Failpoints(aims=("fail after settle",)), tmp_path / "met")

    watch.meet("settle", "before")
    with pytest.raises(StoreUnavailable):
        watch.meet("settle", "after")
    watch.meet("settle", "after")
    watch.write_counts()

    assert (tmp_path / "met").read_text().splitlines() == ["fail after settle"]
    notes = {note.what: note.facts for note in read(tmp_path)[1]}
    assert notes["points"]["passed"] == {"before settle": 1, "after settle": 2}
    history.close()


def test_a_point_with_a_probability_is_applied_again_and_again(tmp_path: Path) -> None:
    history = History(tmp_path, "worker-0-1")
    watch = Watch(history, Failpoints(often={"fail before save_steps": 1.0}))

    watch.meet("save_steps", "after")
    watch.meet("settle", "before")
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            watch.meet("save_steps", "before")
    history.close()


def test_a_sweep_assigns_points_that_were_not_reached(tmp_path: Path) -> None:
    sweep = Sweep(["kill before claim", "fail after claim"], random.Random(1))

    first = sweep.aims("one", tmp_path / "one")
    (tmp_path / "one").write_text("fail after claim\n")

    assert set(first) == {"kill before claim", "fail after claim"}
    assert sweep.aims("two", tmp_path / "two") == ("kill before claim",)
    assert sweep.left == ["kill before claim"]


def test_the_sweep_has_points_before_and_after_every_verb() -> None:
    for points, verbs in ((worker_points(), WORKER_VERBS), (producer_points(), PRODUCER_VERBS)):
        for action in ("kill", "stop"):
            assert {f"{action} {when} {verb}" for verb in verbs for when in ("before", "after")} <= set(points)
        assert "fail before rollback" not in points


def test_verbs_that_a_store_lacks_are_left_out_of_the_sweep() -> None:
    sweep = Sweep(["kill before join", "kill before commit"], random.Random(1))

    sweep.leave_out("join")

    assert sweep.left == ["kill before commit"]


async def test_begin_and_join_are_failpoints(tmp_path: Path) -> None:
    history = History(tmp_path, "producer-1")
    aims = ("fail before begin", "fail after begin", "fail after join", "fail before start")
    address = f"sqlite:///{tmp_path / 'jobs.db'}"
    jobs = Jobs()

    @jobs.job
    async def work() -> None: ...

    watch = Watch(history, Failpoints(aims=aims), tmp_path / "met")
    store = WatchedStore(open_store(address), watch)
    async with Client(store, jobs) as client:
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await client.store.begin()
        whole = await client.store.begin()  # the failed calls left no open transaction
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await client.start(work.bind(), tx=whole.native)
        await client.start(work.bind(), tx=whole.native)
        await whole.rollback()
    await store.close()  # a client does not close a store that it was given

    assert sorted((tmp_path / "met").read_text().splitlines()) == sorted(aims)
    history.close()
