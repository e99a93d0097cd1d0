"""The report: text, JSON and a page say the same, and a page never takes what jobs were given for its own words."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.torture.builders import Story
from torture import evidence as evidences
from torture import report
from torture.__main__ import main
from torture.checker import check
from torture.page import as_page
from torture.processes import ROOT
from torture.table import table


def test_text_json_and_page_tell_the_verdict_and_what_is_broken() -> None:
    story = Story()
    story.job("a")
    story.claim("a", "t1")
    story.claim("a", "t2")
    evidence = story.evidence()

    summary = report.summary(evidence, check(evidence))

    reported = json.loads(report.as_json(summary))
    assert reported["verdict"] == "INVALID"
    assert {verdict["number"]: verdict["word"] for verdict in reported["verdicts"]}[6] == "VIOLATED"
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
    summary = report.summary(evidence, check(evidence))

    assert summary["verdict"] == "VALID, with vacuous lines"
    assert "vacuous   I1, " in report.as_text(summary)


@pytest.mark.parametrize(("asked", "code"), [((), 3), (("--allow-vacuous",), 0)])
def test_a_run_with_vacuous_lines_fails_unless_they_are_allowed(
    asked: tuple[str, ...], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torture.__main__.stop_once", lambda: None)
    evidences.save(tmp_path, Story().facts, [])

    assert main(["--check", str(tmp_path), *asked]) == code


def test_the_command_runs_from_any_folder(tmp_path: Path) -> None:
    evidences.save(tmp_path, Story().facts, [])

    ended = subprocess.run(
        [ROOT / "torture" / "holdfast-torture", "--check", tmp_path], cwd=tmp_path, capture_output=True, text=True
    )

    assert (ended.returncode, ended.stderr) == (3, "")
    assert "VALID, with vacuous lines" in ended.stdout


def test_a_report_tells_what_was_only_tried_and_what_never_happened() -> None:
    story = Story()
    story.facts.begun = story.now
    story.note("tried", kind="disk full", begun=story.now, outage=True)
    begun = story.now
    story.wait(5)
    story.note("fault", kind="server kill", begun=begun, outage=True)
    story.wait(5)
    story.facts.unharmed = ["disk full"]
    evidence = story.evidence()
    summary = report.summary(evidence, check(evidence))

    assert "disk full" not in summary["faults"]
    assert summary["tried"] == {"disk full": 1}
    assert summary["excused"] == 0.5
    for reported in (report.as_text(summary), as_page(summary)):
        assert "50% of the time" in reported
        assert "disk full" in reported


def test_a_table_tells_what_its_recovery_times_leave_out() -> None:
    story = Story()
    story.facts.begun = story.now
    for job, outage in (("a", False), ("b", True)):
        story.job(job)
        story.claim(job, f"t-{job}")
        begun = story.now
        story.wait(9 if outage else 3)
        if outage:
            story.note("fault", kind="server kill", begun=begun, outage=True)
        story.reap(job)
    evidence = story.evidence()
    summary = json.loads(report.as_json(report.summary(evidence, check(evidence))))

    assert "1 more were disturbed, longest of all 7.02 s" in table([summary])
