"""The checker says OK of what is well, VIOLATED of each thing that is not, and VACUOUS where nothing happened."""

from __future__ import annotations

from typing import Any

import pytest

from tests.torture.builders import Story, Telling, verdicts
from tests.torture.stories import BROKEN, completed_twice, well
from torture.checker import INVARIANTS, Word, check
from torture.losses import losses


def test_what_is_well_is_ok() -> None:
    judged = verdicts(well)

    assert {number for number, word in judged.items() if word is Word.VIOLATED} == set()
    for number in (1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 16, 18, 23, 29, 30):
        assert judged[number] is Word.OK, number


def test_where_nothing_happened_nothing_was_shown() -> None:
    judged = verdicts(lambda story: None)

    assert all(word in (Word.VACUOUS, Word.NOT_APPLICABLE) for number, word in judged.items() if number not in (29, 30))
    assert judged[7] is Word.VACUOUS


def test_what_this_version_does_not_have_is_never_ok() -> None:
    judged = verdicts(well)

    for number in (15, 24, 25, 31):
        assert judged[number] is Word.NOT_APPLICABLE
    assert len(INVARIANTS) == 33


@pytest.mark.parametrize(("number", "emit"), BROKEN, ids=[f"I{number}-{emit.__name__}" for number, emit in BROKEN])
def test_each_thing_that_is_wrong_is_seen(number: int, emit: Telling) -> None:
    assert verdicts(emit)[number] is Word.VIOLATED


def test_with_faults_about_what_falls_takes_the_whole_promise_with_it() -> None:
    judged = verdicts(completed_twice)

    assert judged[22] is Word.VIOLATED
    assert judged[27] is Word.VIOLATED


@pytest.mark.parametrize(
    ("what", "facts"),
    [
        ("probe", {"method": "POST", "target": "/", "status": 200, "allowed": False, "clean": True}),
        ("probe", {"method": "GET", "target": "/<script>", "status": 404, "allowed": True, "clean": False}),
        ("render", {"command": "list", "code": 0, "raw": ["U+001B"]}),
    ],
)
def test_what_is_taken_for_more_than_text_breaks_security(what: str, facts: dict[str, Any]) -> None:
    def taken(story: Story) -> None:
        story.job("a", type="hostile")
        story.claim("a")
        story.end("a")
        story.note(what, **facts)

    assert verdicts(taken)[33] is Word.VIOLATED


def test_a_store_that_may_forget_is_not_judged_for_it_but_counted() -> None:
    story = Story()
    story.call("start", "ok", {"ids": ["gone"]}, found=["gone"], deduplicated=[False])
    story.wait(0.5)
    story.note("fault", kind="power lost", begun=story.now, outage=True)
    story.facts.durability = "everysec"
    evidence = story.evidence()

    assert {verdict.number: verdict.word for verdict in check(evidence)}[1] is Word.LOST
    reported = losses(evidence)
    assert reported["starts lost"] == 1
    assert reported["seconds before a crash, the oldest lost"] == pytest.approx(0.5, abs=0.1)


def test_points_of_the_sweep_that_nobody_met_leave_crashes_unshown() -> None:
    def swept(story: Story) -> None:
        story.note("fault", kind="kill", begun=story.now, outage=False, victim="w")
        story.facts.swept = {"worker": ["kill before claim"]}

    assert verdicts(swept)[22] is Word.VACUOUS
