"""Who held up everybody: one that stood still with a lock that all need."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.torture.builders import SECOND, Story, verdicts
from torture.checker import Word
from torture.history import History, Note, read
from torture.lock_watch import LockWatch


def test_a_lock_that_one_is_seen_with_for_long_is_noted_and_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.mark.parametrize(("turns", "word"), [(False, Word.OK), (True, Word.VIOLATED)])
def test_only_a_holder_that_stood_still_excuses_that_nobody_could_write(turns: bool, word: Word) -> None:
    def held_up(story: Story) -> None:
        story.facts.begun = story.now
        story.job("a")
        story.claim("a", worker="worker-1")
        story.wait(2)
        begun = story.now
        for quarter in range(30 * 4):
            story.notes.append(Note("worker-2", "beat", story.now, {}))
            if turns or not 1 < quarter < 80:
                story.notes.append(Note("worker-3", "beat", story.now, {}))
            story.wait(0.25)
            if quarter == 80:
                story.notes.append(
                    Note("nemesis", "held", story.now, {"by": "worker-3", "begun": begun, "ends": story.now})
                )
                story.reap("a")
                story.claim("a", "t2", worker="worker-2")
                story.end("a")

    assert verdicts(held_up)[10] is word
