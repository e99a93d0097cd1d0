"""One report for several rounds: sums, the worst values, and every violation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.torture.builders import SECOND, Scenario
from torture import report
from torture.checker import Result, check
from torture.page import as_page
from torture.recovery_times import measure
from torture.rounds import joined


def of(seed: int, write: Callable[[Scenario], None]) -> tuple[dict[str, Any], Any]:
    scenario = Scenario()
    scenario.facts.seed = seed
    scenario.facts.begun = scenario.now
    write(scenario)
    evidence = scenario.evidence()
    return report.summary(evidence, check(evidence)), measure(evidence)


def recovered(scenario: Scenario, seconds: int) -> None:
    scenario.job("a")
    scenario.claim("a", "t1")
    scenario.note("handler", job="a", token="t1", attempt=1, type="work")
    scenario.now += seconds * SECOND
    scenario.reap("a")
    scenario.claim("a", "t2")
    scenario.note("handler", job="a", token="t2", attempt=2, type="work")
    scenario.end("a")
    scenario.note("fault", kind="kill", begun=scenario.now, outage=False, victim="w")


def stolen(scenario: Scenario) -> None:
    recovered(scenario, 2)
    scenario.job("b")
    scenario.claim("b", "t3")
    scenario.claim("b", "t4")


def test_rounds_are_summed_and_a_violation_has_its_seed() -> None:
    rounds = [
        of(7, lambda scenario: recovered(scenario, 2)),
        of(8, lambda scenario: recovered(scenario, 4)),
        of(9, stolen),
    ]

    reported = joined([summary for summary, _ in rounds], [measured for _, measured in rounds])

    verdicts = {verdict.number: verdict for verdict in reported["verdicts"]}
    assert reported["verdict"] == "INVALID"
    assert verdicts[6].result is Result.VIOLATED
    assert verdicts[6].violations[0].startswith("seed 9: b: claimed while another claim held it")
    assert verdicts[9].result is Result.VACUOUS
    assert reported["load"]["jobs"] == 4
    assert reported["faults"]["kill"] == 3
    assert reported["executions"] == {
        "handlers started": 6,
        "jobs completed by one": 3,
        "starts per completed job": 2.0,
    }
    assert reported["recovery"]["lease lost to the job reaped"]["times"] == 3
    assert "3 rounds" in report.as_text(reported)
    assert "claimed while another claim held it" in as_page(reported)


def test_the_report_of_a_single_round_is_unchanged() -> None:
    summary, measured = of(7, lambda scenario: recovered(scenario, 2))

    assert joined([summary], [measured]) is summary
