"""Several rounds as one report: sums, the worst of them, and nothing broken that is forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.torture.builders import SECOND, Story
from torture import report
from torture.checker import Word, check
from torture.page import as_page
from torture.recovery import measure
from torture.rounds import joined


def of(seed: int, emit: Callable[[Story], None]) -> tuple[dict[str, Any], Any]:
    story = Story()
    story.facts.seed = seed
    story.facts.begun = story.now
    emit(story)
    evidence = story.evidence()
    return report.summary(evidence, check(evidence)), measure(evidence)


def recovered(story: Story, seconds: int) -> None:
    story.job("a")
    story.claim("a", "t1")
    story.note("handler", job="a", token="t1", attempt=1, type="work")
    story.now += seconds * SECOND
    story.reap("a")
    story.claim("a", "t2")
    story.note("handler", job="a", token="t2", attempt=2, type="work")
    story.end("a")
    story.note("fault", kind="kill", begun=story.now, outage=False, victim="w")


def stolen(story: Story) -> None:
    recovered(story, 2)
    story.job("b")
    story.claim("b", "t3")
    story.claim("b", "t4")


def test_rounds_add_up_and_the_broken_one_is_named_by_its_seed() -> None:
    rounds = [of(7, lambda story: recovered(story, 2)), of(8, lambda story: recovered(story, 4)), of(9, stolen)]

    reported = joined([summary for summary, _ in rounds], [measured for _, measured in rounds])

    verdicts = {verdict.number: verdict for verdict in reported["verdicts"]}
    assert reported["verdict"] == "INVALID"
    assert verdicts[6].word is Word.VIOLATED
    assert verdicts[6].violations[0].startswith("seed 9: b: claimed while another claim held it")
    assert verdicts[9].word is Word.VACUOUS
    assert reported["load"]["jobs"] == 4
    assert reported["faults"]["kill"] == 3
    assert reported["executions"] == {
        "handlers started": 6,
        "jobs completed by one": 3,
        "starts per completed job": 2.0,
    }
    assert reported["recovery"]["lease lost to the job taken back"]["times"] == 3
    assert "3 rounds" in report.as_text(reported)
    assert "claimed while another claim held it" in as_page(reported)


def test_one_round_is_told_as_it_is() -> None:
    summary, measured = of(7, lambda story: recovered(story, 2))

    assert joined([summary], [measured]) is summary
