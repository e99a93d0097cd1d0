"""The checker on the list of live workers around the end of a run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.torture.builders import Scenario, verdicts
from torture.checker import Result
from torture.live_workers import LiveWorkers


def ended(scenario: Scenario, code: int = 0, **lists: list[str]) -> None:
    scenario.note("exit", worker="w1", code=code, asked=None)
    scenario.facts.live = LiveWorkers(existing=["w1"], **({"listed": ["w1"]} | lists))


@pytest.mark.parametrize(
    ("how", "result"),
    [
        ({}, Result.VACUOUS),
        ({"listed": ["w1", "killed"]}, Result.VACUOUS),
        ({"listed": ["w1", "w1"]}, Result.VIOLATED),
        ({"listed": []}, Result.VIOLATED),
        ({"after_end": ["killed"]}, Result.VACUOUS),
        ({"after_end": ["w1"]}, Result.VIOLATED),
        ({"after_end": ["w1"], "code": -9}, Result.VACUOUS),
        ({"after_gone": ["killed"]}, Result.VIOLATED),
    ],
)
def test_the_list_contains_the_workers_that_run(how: dict[str, Any], result: Result) -> None:
    assert verdicts(lambda scenario: ended(scenario, **how))[21] is result
