"""Failpoints: where the sweep aims, something happens once, and is ticked off."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from holdfast import StoreUnavailable
from torture.failpoints import Watch
from torture.history import History, read
from torture.settings import Failpoints
from torture.sweep import PRODUCER_VERBS, WORKER_VERBS, Sweep, producer_points, worker_points


def test_an_aim_is_met_once_and_ticked_off(tmp_path: Path) -> None:
    history = History(tmp_path, "worker-0-1")
    watch = Watch(history, Failpoints(aims=("fail after settle",)), tmp_path / "met")

    watch.meet("settle", "before")
    with pytest.raises(StoreUnavailable):
        watch.meet("settle", "after")
    watch.meet("settle", "after")
    watch.tell()

    assert (tmp_path / "met").read_text().splitlines() == ["fail after settle"]
    notes = {note.what: note.facts for note in read(tmp_path)[1]}
    assert notes["points"]["passed"] == {"before settle": 1, "after settle": 2}
    history.close()


def test_a_sweep_hands_out_what_nobody_has_met(tmp_path: Path) -> None:
    sweep = Sweep(["kill before claim", "fail after claim"], random.Random(1))

    first = sweep.aims("one", tmp_path / "one")
    (tmp_path / "one").write_text("fail after claim\n")

    assert set(first) == {"kill before claim", "fail after claim"}
    assert sweep.aims("two", tmp_path / "two") == ("kill before claim",)
    assert sweep.left == ["kill before claim"]


def test_every_point_is_swept_before_and_after() -> None:
    for points, verbs in ((worker_points(), WORKER_VERBS), (producer_points(), PRODUCER_VERBS)):
        assert {f"kill {when} {verb}" for verb in verbs for when in ("before", "after")} <= set(points)
        assert "fail before rollback" not in points
