"""Recovery times: when they start, when they end, and their limits."""

from __future__ import annotations

import pytest

from tests.torture.builders import SECOND, Scenario
from torture.recovery_times import measure, recoveries


def test_a_job_is_measured_from_the_death_of_its_worker_to_its_next_claim() -> None:
    scenario = Scenario()
    scenario.job("a")
    scenario.claim("a", "t1", worker="w1")
    died = scenario.now
    scenario.note("fault", kind="kill", begun=died, outage=False, victim="w1")
    scenario.reap("a")
    scenario.now = died + 3 * SECOND
    scenario.claim("a", "t2", worker="w2")

    reported = recoveries(scenario.evidence())["worker killed to its job running again"]

    assert reported["times"] == 1
    assert reported["max"] == 3.01
    assert reported["beyond"] == 0


def test_a_job_that_ended_before_the_kill_is_no_recovery() -> None:
    scenario = Scenario()
    scenario.job("a")
    scenario.claim("a", "t1", worker="w1")
    scenario.end("a")
    scenario.note("fault", kind="kill", begun=scenario.now, outage=False, victim="w1")

    assert recoveries(scenario.evidence())["worker killed to its job running again"] == {}


def test_a_server_is_measured_from_its_restart_to_the_first_completion() -> None:
    scenario = Scenario()
    scenario.job("a")
    scenario.claim("a")
    scenario.note("fault", kind="server restart", begun=scenario.now - SECOND, back=scenario.now, outage=True)
    scenario.wait(0.49)
    scenario.end("a")

    assert recoveries(scenario.evidence())["server back to the first completion"]["max"] == 0.5


def test_waiters_with_and_without_wakeups_are_measured_separately() -> None:
    scenario = Scenario()
    for polling in (False, True):
        name = f"job {polling}"
        scenario.job(name)
        scenario.claim(name)
        begun = scenario.now
        scenario.end(name)
        scenario.wait(5.0 if polling else 0.2)
        scenario.call("wait", "ok", {"chain": name, "timeout": 10.0, "without_wakeups": polling}, status="completed")
        scenario.calls[-1].begun = begun

    reported = recoveries(scenario.evidence())

    assert reported["chain ended to its waiter notified, with wake-ups"]["max"] == 0.2
    assert reported["chain ended to its waiter notified, without"]["max"] == 5.0


@pytest.mark.parametrize("knew", [True, False])
def test_a_waiter_whose_worker_died_before_its_answer_is_counted_and_not_measured(knew: bool) -> None:
    scenario = Scenario()
    scenario.job("a")
    scenario.claim("a", "t1", worker="w")
    begun = scenario.now
    scenario.note("beat")
    scenario.end("a")
    if knew:
        scenario.note("settled", job="a", token="t1", status="completed", written=True)
    scenario.wait(4)
    scenario.call("wait", "ok", {"chain": "a", "timeout": 10.0, "without_wakeups": False}, status="completed")
    scenario.calls[-1].begun = begun

    reported = measure(scenario.evidence())["chain ended to its waiter notified, with wake-ups"]

    assert (len(reported.seconds), reported.disturbed) == ((1, 0) if knew else (0, 1))


def test_recoveries_during_an_outage_are_counted_and_not_measured() -> None:
    scenario = Scenario()
    for name, away in (("a", False), ("b", True)):
        scenario.job(name)
        scenario.claim(name, f"t1{name}")
        begun = scenario.now
        scenario.reap(name)
        scenario.wait(9 if away else 1)
        if away:
            scenario.note("fault", kind="server restart", begun=begun, back=scenario.now, outage=True)
        scenario.claim(name, f"t2{name}")
        scenario.end(name)

    reported = recoveries(scenario.evidence())["lease lost to the job running again"]

    assert (reported["times"], reported["disturbed"]) == (1, 1)
    assert reported["max"] < 2 < 9 < reported["whole"]
