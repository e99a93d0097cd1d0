"""Long holders of the write lock."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.torture.builders import SECOND, Scenario, verdicts
from torture.checker import Result
from torture.history import History, Note, read
from torture.lock_watch import LockWatch


def test_only_long_holders_of_the_lock_are_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history, now = History(tmp_path, "nemesis"), [0]
    monkeypatch.setattr("torture.lock_watch.real_now", lambda: now[0])
    holders = iter([1, 1, 1, None, 2, 1, 3, 3, 3, None])
    names = {1: "worker-1", 2: "worker-2"}
    watch = LockWatch(lambda: next(holders), lambda pid: names.get(pid or 0), history)

    for _ in range(10):
        watch.look()
        now[0] += SECOND // 4

    history.close()
    _, notes = read(tmp_path)
    assert [note.facts for note in notes] == [{"by": "worker-1", "begun": 0, "ends": SECOND // 2}]


@pytest.mark.parametrize(("turns", "result"), [(False, Result.OK), (True, Result.VIOLATED)])
def test_only_a_frozen_holder_of_the_lock_is_an_excuse(turns: bool, result: Result) -> None:
    def held_up(scenario: Scenario) -> None:
        scenario.facts.begun = scenario.now
        scenario.job("a")
        scenario.claim("a", worker="worker-1")
        scenario.wait(2)
        begun = scenario.now
        for quarter in range(30 * 4):
            scenario.notes.append(Note("worker-2", "beat", scenario.now, {}))
            if turns or not 1 < quarter < 80:
                scenario.notes.append(Note("worker-3", "beat", scenario.now, {}))
            scenario.wait(0.25)
            if quarter == 80:
                scenario.notes.append(
                    Note("nemesis", "held", scenario.now, {"by": "worker-3", "begun": begun, "ends": scenario.now})
                )
                scenario.reap("a")
                scenario.claim("a", "t2", worker="worker-2")
                scenario.end("a")

    assert verdicts(held_up)[10] is result
