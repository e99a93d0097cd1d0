"""What the checker says of a supervisor: within its bounds, holding while it knows nothing, and nothing cut short."""

from __future__ import annotations

from typing import Any

import pytest

from tests.torture.builders import Story, verdicts
from torture.checker import Word


def supervised(story: Story, *, living: int = 2, target: int = 2, known: bool = True, more: bool = True) -> None:
    story.facts.supervised = True
    story.note("supervisor", kind="scaled", worker=None, detail="")
    story.note("supervisor", kind="process_draining", worker="w0", detail="group elastic: process 6, 0 running")
    story.job("e", type="elastic")
    story.claim("e", "te", worker="w0")
    story.end("e")
    # For a while nobody knows what is due, and more comes.
    story.note("processes", least=1, most=3, living=1, active=1, target=1, known=False)
    if more:
        story.job("f", type="elastic")
    story.wait(1)
    story.note("processes", least=1, most=3, living=1, active=1, target=1, known=False)
    story.note("processes", least=1, most=3, living=living, active=1, target=target, known=known)


@pytest.mark.parametrize(
    ("how", "word"),
    [
        ({}, Word.OK),
        ({"living": 4}, Word.VIOLATED),
        ({"target": 0}, Word.VIOLATED),
        ({"known": False}, Word.VIOLATED),
        ({"known": False, "target": 1}, Word.OK),
        ({"more": False}, Word.VACUOUS),
    ],
)
def test_a_supervisor_keeps_within_its_bounds_and_holds_while_it_knows_nothing(how: dict[str, Any], word: Word) -> None:
    assert verdicts(lambda story: supervised(story, **how))[25] is word


def test_a_supervisor_that_always_knew_what_was_due_shows_nothing() -> None:
    def knowing(story: Story) -> None:
        supervised(story)
        for note in story.notes:
            note.facts |= {"known": True} if note.what == "processes" else {}

    assert verdicts(knowing)[25] is Word.VACUOUS


def test_a_supervisor_that_never_had_to_change_anything_shows_nothing() -> None:
    def unchanged(story: Story) -> None:
        story.facts.supervised = True
        story.note("processes", least=1, most=3, living=1, active=1, target=1, known=True)
        story.note("supervisor exit", code=0)

    assert verdicts(unchanged)[25] is Word.VACUOUS


@pytest.mark.parametrize(("victim", "word"), [(None, Word.VIOLATED), ("8", Word.VIOLATED), ("7", Word.OK)])
def test_a_job_that_was_cut_short_when_its_process_was_let_go_breaks_the_supervisors_promise(
    victim: str | None, word: Word
) -> None:
    def cut_short(story: Story) -> None:
        supervised(story)
        story.job("a", type="elastic")
        story.claim("a", worker="w1")
        story.note("supervisor", kind="process_draining", worker="w1", detail="group elastic: process 7, 1 running")
        if victim is not None:
            story.note("fault", kind="supervised kill", begun=story.now, outage=False, victim=victim)
        story.reap("a")

    assert verdicts(cut_short)[25] is word
