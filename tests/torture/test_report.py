"""The report: text, JSON and page have the same content, and the page escapes inputs of jobs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.torture.builders import Scenario
from torture import evidence as evidences
from torture import report
from torture.__main__ import main
from torture.checker import check
from torture.page import as_page
from torture.processes import ROOT
from torture.table import table


def test_text_json_and_page_contain_the_verdict_and_the_violation() -> None:
    scenario = Scenario()
    scenario.job("a")
    scenario.claim("a", "t1")
    scenario.claim("a", "t2")
    evidence = scenario.evidence()

    summary = report.summary(evidence, check(evidence))

    reported = json.loads(report.as_json(summary))
    assert reported["verdict"] == "INVALID"
    assert [each["word"] for each in reported["verdicts"] if each["number"] == 6] == ["VIOLATED"]  # wording: a key
    assert "claimed while another claim held it" in report.as_text(summary)
    assert "claimed while another claim held it" in as_page(summary)


def test_a_page_escapes_quoted_values() -> None:
    scenario = Scenario()
    scenario.call("echo", "ok", {"value": "<script>alert(1)</script>"}, equal=False, got="'\"><img>")
    evidence = scenario.evidence()

    page = as_page(report.summary(evidence, check(evidence)))

    assert "<script>" not in page
    assert "<img>" not in page
    assert "&lt;script&gt;" in page


def test_a_run_without_events_has_vacuous_verdicts() -> None:
    evidence = Scenario().evidence()
    summary = report.summary(evidence, check(evidence))

    assert summary["verdict"] == "VALID, with vacuous lines"
    assert "vacuous   I1, " in report.as_text(summary)


@pytest.mark.parametrize(("asked", "code"), [((), 3), (("--allow-vacuous",), 0)])
def test_a_run_with_vacuous_lines_fails_unless_they_are_allowed(
    asked: tuple[str, ...], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torture.__main__.stop_once", lambda: None)
    evidences.save(tmp_path, Scenario().facts, [])

    assert main(["--check", str(tmp_path), *asked]) == code


def test_the_command_runs_from_any_folder(tmp_path: Path) -> None:
    evidences.save(tmp_path, Scenario().facts, [])

    ended = subprocess.run(
        [ROOT / "torture" / "holdfast-torture", "--check", tmp_path], cwd=tmp_path, capture_output=True, text=True
    )

    assert (ended.returncode, ended.stderr) == (3, "")
    assert "VALID, with vacuous lines" in ended.stdout


def test_a_report_contains_injections_without_effect_and_missing_faults() -> None:
    scenario = Scenario()
    scenario.facts.begun = scenario.now
    scenario.note("tried", kind="disk full", begun=scenario.now, outage=True)
    begun = scenario.now
    scenario.wait(5)
    scenario.note("fault", kind="server kill", begun=begun, outage=True)
    scenario.wait(5)
    scenario.facts.unharmed = ["disk full"]
    evidence = scenario.evidence()
    summary = report.summary(evidence, check(evidence))

    assert "disk full" not in summary["faults"]
    assert summary["tried"] == {"disk full": 1}
    assert summary["excused"] == 0.5
    for reported in (report.as_text(summary), as_page(summary)):
        assert "50% of the time" in reported
        assert "disk full" in reported


def test_a_table_contains_the_number_of_excluded_recovery_times() -> None:
    scenario = Scenario()
    scenario.facts.begun = scenario.now
    for job, outage in (("a", False), ("b", True)):
        scenario.job(job)
        scenario.claim(job, f"t-{job}")
        begun = scenario.now
        scenario.wait(9 if outage else 3)
        if outage:
            scenario.note("fault", kind="server kill", begun=begun, outage=True)
        scenario.reap(job)
    evidence = scenario.evidence()
    summary = json.loads(report.as_json(report.summary(evidence, check(evidence))))

    assert "1 more were disturbed, longest of all 7.02 s" in table([summary])
