"""The report: text, JSON and a page say the same, and a page never takes what jobs were given for its own words."""

from __future__ import annotations

import json

from tests.torture.builders import Story
from torture import report
from torture.checker import check
from torture.page import as_page


def test_text_json_and_page_tell_the_verdict_and_what_is_broken() -> None:
    story = Story()
    story.job("a")
    story.claim("a", "t1")
    story.claim("a", "t2")
    evidence = story.evidence()

    summary = report.summary(evidence, check(evidence))

    told = json.loads(report.as_json(summary))
    assert told["verdict"] == "INVALID"
    assert {verdict["number"]: verdict["word"] for verdict in told["verdicts"]}[6] == "VIOLATED"
    assert "claimed while another claim held it" in report.as_text(summary)
    assert "claimed while another claim held it" in as_page(summary)


def test_a_page_escapes_what_it_quotes() -> None:
    story = Story()
    story.call("echo", "ok", {"value": "<script>alert(1)</script>"}, equal=False, got="'\"><img>")
    evidence = story.evidence()

    page = as_page(report.summary(evidence, check(evidence)))

    assert "<script>" not in page
    assert "<img>" not in page
    assert "&lt;script&gt;" in page


def test_a_run_in_which_nothing_happened_is_not_simply_valid() -> None:
    evidence = Story().evidence()

    assert report.summary(evidence, check(evidence))["verdict"] == "VALID, with vacuous lines"
