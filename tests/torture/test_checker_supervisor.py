"""The checker on the supervisor: its limits, an unknown backlog, and drained processes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.torture.builders import Scenario, verdicts
from torture.checker import Result


def supervised(scenario: Scenario, *, living: int = 2, target: int = 2, known: bool = True, more: bool = True) -> None:
    scenario.facts.supervised = True
    scenario.note("supervisor", kind="scaled", worker=None, detail="")
    scenario.note("supervisor", kind="process_draining", worker="w0", detail="group elastic: process 6, 0 running")
    scenario.job("e", type="elastic")
    scenario.claim("e", "te", worker="w0")
    scenario.end("e")
    # The backlog is unknown for some time, while a new job arrives.
    scenario.note("processes", least=1, most=3, living=1, active=1, target=1, known=False)
    if more:
        scenario.job("f", type="elastic")
    scenario.wait(1)
    scenario.note("processes", least=1, most=3, living=1, active=1, target=1, known=False)
    scenario.note("processes", least=1, most=3, living=living, active=1, target=target, known=known)


@pytest.mark.parametrize(
    ("how", "result"),
    [
        ({}, Result.OK),
        ({"living": 4}, Result.VIOLATED),
        ({"target": 0}, Result.VIOLATED),
        ({"known": False}, Result.VIOLATED),
        ({"known": False, "target": 1}, Result.OK),
        ({"more": False}, Result.VACUOUS),
    ],
)
def test_a_supervisor_keeps_its_limits_and_its_target_with_an_unknown_backlog(
    how: dict[str, Any], result: Result
) -> None:
    assert verdicts(lambda scenario: supervised(scenario, **how))[25] is result


def test_a_supervisor_that_always_knew_the_backlog_is_vacuous() -> None:
    def knowing(scenario: Scenario) -> None:
        supervised(scenario)
        for note in scenario.notes:
            note.facts |= {"known": True} if note.what == "processes" else {}

    assert verdicts(knowing)[25] is Result.VACUOUS


def test_a_supervisor_that_never_scaled_is_vacuous() -> None:
    def unchanged(scenario: Scenario) -> None:
        scenario.facts.supervised = True
        scenario.note("processes", least=1, most=3, living=1, active=1, target=1, known=True)
        scenario.note("supervisor exit", code=0)

    assert verdicts(unchanged)[25] is Result.VACUOUS


@pytest.mark.parametrize(("victim", "result"), [(None, Result.VIOLATED), ("8", Result.VIOLATED), ("7", Result.OK)])
def test_a_job_that_is_reaped_after_the_drain_of_its_process_is_a_violation(victim: str | None, result: Result) -> None:
    def cut_short(scenario: Scenario) -> None:
        supervised(scenario)
        scenario.job("a", type="elastic")
        scenario.claim("a", worker="w1")
        scenario.note("supervisor", kind="process_draining", worker="w1", detail="group elastic: process 7, 1 running")
        if victim is not None:
            scenario.note("fault", kind="supervised kill", begun=scenario.now, outage=False, victim=victim)
        scenario.reap("a")

    assert verdicts(cut_short)[25] is result
