"""The checker on workers that stop: their claims, their exit and their time."""

from __future__ import annotations

import pytest

from tests.torture.builders import SECOND, Scenario, verdicts
from torture.checker import Result
from torture.history import Note


def stopped(scenario: Scenario, *, seconds: float = 1.0, busy: bool = True) -> int:
    """A worker gets the stop signal, handles it and exits; returns the time of the signal."""
    scenario.job("a")
    scenario.claim("a", worker="w", leased_until=scenario.now + 60 * SECOND)
    if not busy:
        scenario.end("a")
    scenario.wait(0.1)
    asked = scenario.now
    scenario.note("event", kind="worker_stopping", job=None, attempt=None, detail="")
    if busy:
        scenario.end("a")
    scenario.wait(seconds)
    scenario.note("exit", worker="w", code=0, asked=asked)
    return asked


@pytest.mark.parametrize(("seconds", "result"), [(1.0, Result.OK), (50.0, Result.VIOLATED)])
def test_a_stopping_worker_exits_within_its_grace_time(seconds: float, result: Result) -> None:
    assert verdicts(lambda scenario: (stopped(scenario, seconds=seconds), None)[1])[21] is result


@pytest.mark.parametrize(("code", "result"), [(1, Result.VIOLATED), (-9, Result.VACUOUS), (139, Result.VACUOUS)])
def test_a_worker_exits_without_a_signal_only_if_it_is_killed(code: int, result: Result) -> None:
    assert verdicts(lambda scenario: scenario.note("exit", worker="w", code=code, asked=None))[21] is result


def test_a_worker_may_exit_later_during_an_outage() -> None:
    def away(scenario: Scenario) -> None:
        asked = stopped(scenario, seconds=50)
        scenario.note("fault", kind="server kill", begun=asked, outage=True)

    assert verdicts(away)[21] is Result.VACUOUS


def test_the_exit_of_an_idle_worker_is_vacuous() -> None:
    assert verdicts(lambda scenario: (stopped(scenario, busy=False), None)[1])[21] is Result.VACUOUS


@pytest.mark.parametrize(
    ("seconds", "given_back", "result"),
    [(0.1, True, Result.OK), (0.1, False, Result.VIOLATED), (3.0, True, Result.VIOLATED)],
)
def test_only_a_claim_sent_before_the_stop_may_follow_it_and_is_released(
    seconds: float, given_back: bool, result: Result
) -> None:
    def on_its_way(scenario: Scenario) -> None:
        scenario.job("b")
        asked = stopped(scenario)
        exited = scenario.notes.pop()
        scenario.now = asked + round(seconds * SECOND)
        scenario.claim("b", "t2", worker="w")
        scenario.note("releasing", job="b", token="t2")
        scenario.end("b", "pending", attempt=0) if given_back else scenario.end("b")
        scenario.notes.append(Note("w", "exit", scenario.now + SECOND, exited.facts))

    assert verdicts(on_its_way)[21] is result
