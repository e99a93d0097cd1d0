"""The checker returns OK for correct runs, VIOLATED for each violation, and VACUOUS if nothing happened."""

from __future__ import annotations

from typing import Any

import pytest

from tests.torture.builders import Scenario, WriteScenario, verdicts
from tests.torture.scenarios import BROKEN, completed_twice, correct_run
from torture.checker import INVARIANTS, Result, check
from torture.losses import losses


def test_a_correct_run_is_ok() -> None:
    judged = verdicts(correct_run)

    assert {number for number, result in judged.items() if result is Result.VIOLATED} == set()
    for number in (1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 16, 18, 23, 29, 30):
        assert judged[number] is Result.OK, number


def test_without_events_the_verdicts_are_vacuous() -> None:
    judged = verdicts(lambda scenario: None)

    assert all(
        result in (Result.VACUOUS, Result.NOT_APPLICABLE) for number, result in judged.items() if number not in (29, 30)
    )
    assert judged[7] is Result.VACUOUS


def test_missing_features_are_not_applicable() -> None:
    judged = verdicts(correct_run)

    for number in (25, 31, 39, 40):
        assert judged[number] is Result.NOT_APPLICABLE
    assert len(INVARIANTS) == 40


@pytest.mark.parametrize(("number", "write"), BROKEN, ids=[f"I{number}-{write.__name__}" for number, write in BROKEN])
def test_each_violation_is_detected(number: int, write: WriteScenario) -> None:
    assert verdicts(write)[number] is Result.VIOLATED


def test_a_violation_also_violates_the_invariants_about_all_others() -> None:
    judged = verdicts(completed_twice)

    assert judged[22] is Result.VIOLATED
    assert judged[27] is Result.VIOLATED


@pytest.mark.parametrize(
    ("what", "facts"),
    [
        ("probe", {"method": "POST", "target": "/", "status": 200, "allowed": False, "clean": True}),
        ("probe", {"method": "GET", "target": "/<script>", "status": 404, "allowed": True, "clean": False}),
        ("render", {"command": "list", "code": 0, "raw": ["U+001B"]}),
    ],
)
def test_a_payload_that_is_not_treated_as_text_violates_security(what: str, facts: dict[str, Any]) -> None:
    def taken(scenario: Scenario) -> None:
        scenario.job("a", type="hostile")
        scenario.claim("a")
        scenario.end("a")
        scenario.note(what, **facts)

    assert verdicts(taken)[33] is Result.VIOLATED


def test_losses_of_a_weaker_mode_are_counted_and_are_no_violation() -> None:
    scenario = Scenario()
    scenario.call("start", "ok", {"ids": ["gone"]}, found=["gone"], deduplicated=[False])
    scenario.wait(0.5)
    scenario.note("fault", kind="power lost", begun=scenario.now, outage=True)
    scenario.facts.durability = "everysec"
    evidence = scenario.evidence()

    assert {verdict.number: verdict.result for verdict in check(evidence)}[1] is Result.LOST
    reported = losses(evidence)
    assert reported["starts lost"] == 1
    assert reported["seconds before a crash, the oldest lost"] == pytest.approx(0.5, abs=0.1)


def test_missing_failpoints_make_the_verdict_on_crashes_vacuous() -> None:
    def swept(scenario: Scenario) -> None:
        scenario.note("fault", kind="kill", begun=scenario.now, outage=False, victim="w")
        scenario.facts.swept = {"worker": ["kill before claim"]}

    assert verdicts(swept)[22] is Result.VACUOUS
