"""The checker on interrupted clients and replaced files."""

from __future__ import annotations

from typing import Any

import pytest

from tests.torture.builders import Scenario, WriteScenario, verdicts
from torture.checker import Result


def never_again(scenario: Scenario) -> None:
    scenario.note("interrupted", operation="start")
    scenario.wait(20)
    scenario.note("beat")


def late(scenario: Scenario) -> None:
    scenario.note("interrupted", operation="start")
    scenario.wait(20)
    scenario.note("works again")


def crashed(scenario: Scenario) -> None:
    scenario.note("producer exit", process="interrupted-3", code=-11)


@pytest.mark.parametrize("write", [never_again, late, crashed])
def test_a_client_that_fails_after_an_interruption_is_detected(write: WriteScenario) -> None:
    assert verdicts(write)[30] is Result.VIOLATED


def test_an_outage_of_the_store_excuses_a_client() -> None:
    def outage(scenario: Scenario) -> None:
        begun = scenario.now
        late(scenario)
        scenario.note("fault", kind="server restart", begun=begun, outage=True)

    assert verdicts(outage)[30] is Result.OK


def test_a_producer_killed_by_a_failpoint_is_no_violation() -> None:
    assert verdicts(lambda scenario: scenario.note("producer exit", process="producer-3", code=-9))[30] is Result.OK


GOOD: dict[str, Any] = {
    "acknowledged": [], "late": [], "found": 0, "refused": 5, "changes": 9, "workers": {"worker-0": "detected"},
}  # fmt: skip


def test_a_replaced_file_that_is_detected_is_ok() -> None:
    assert verdicts(lambda scenario: scenario.note("replaced", **GOOD))[1] is Result.OK


@pytest.mark.parametrize(
    "wrong",
    [{"acknowledged": ["start"]}, {"late": ["a"]}, {"found": 1}, {"workers": {"worker-0": "code 0: "}}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_the_use_of_a_replaced_file_is_a_violation(wrong: dict[str, Any]) -> None:
    assert verdicts(lambda scenario: scenario.note("replaced", **GOOD | wrong))[1] is Result.VIOLATED
