"""The checker on the counters of the store."""

from __future__ import annotations

import pytest

from tests.torture.builders import Scenario, verdicts
from torture.checker import Result

COUNTED = {"started": 3, "completed": 1, "failed": 1, "reaped": 1, "repeated": 1, "cancelled": 1}


def ran(scenario: Scenario, counters: dict[str, dict[str, int]] | None) -> None:
    """A job that was retried, released and completed, one that was reaped and failed, and a cancelled one."""
    scenario.job("a")
    scenario.claim("a")
    scenario.end("a", "pending")
    scenario.claim("a", "t2")
    scenario.end("a", "pending", attempt=1)
    scenario.claim("a", "t3")
    scenario.end("a")
    scenario.job("b")
    scenario.claim("b", "t4")
    scenario.reap("b")
    scenario.claim("b", "t5")
    scenario.end("b", "failed")
    scenario.job("c")
    scenario.end("c", "cancelled", token=None)
    scenario.facts.counters = counters


@pytest.mark.parametrize(
    ("counters", "result"),
    [
        ({"work": COUNTED}, Result.OK),
        (None, Result.OK),
        ({"work": COUNTED | {"completed": 2}}, Result.VIOLATED),
        ({"work": COUNTED | {"reaped": 0}}, Result.VIOLATED),
        ({"work": COUNTED | {"repeated": 2}}, Result.VIOLATED),
        ({"work": COUNTED, "other": {"started": 1}}, Result.VIOLATED),
        ({}, Result.VIOLATED),
    ],
)
def test_the_counters_equal_the_audit(counters: dict[str, dict[str, int]] | None, result: Result) -> None:
    assert verdicts(lambda scenario: ran(scenario, counters))[29] is result
