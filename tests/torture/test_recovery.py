"""How long it took to recover: from which moment to which, and against which bound."""

from __future__ import annotations

import pytest

from tests.torture.builders import SECOND, Story
from torture.recovery import measure, recoveries


def test_a_job_is_measured_from_the_death_of_its_worker_to_its_next_claim() -> None:
    story = Story()
    story.job("a")
    story.claim("a", "t1", worker="w1")
    died = story.now
    story.note("fault", kind="kill", begun=died, outage=False, victim="w1")
    story.reap("a")
    story.now = died + 3 * SECOND
    story.claim("a", "t2", worker="w2")

    reported = recoveries(story.evidence())["worker killed to its job running again"]

    assert reported["times"] == 1
    assert reported["max"] == 3.01
    assert reported["beyond"] == 0


def test_a_job_that_its_worker_had_ended_is_nobodys_recovery() -> None:
    story = Story()
    story.job("a")
    story.claim("a", "t1", worker="w1")
    story.end("a")
    story.note("fault", kind="kill", begun=story.now, outage=False, victim="w1")

    assert recoveries(story.evidence())["worker killed to its job running again"] == {}


def test_a_server_is_measured_from_its_return_to_the_first_completion() -> None:
    story = Story()
    story.job("a")
    story.claim("a")
    story.note("fault", kind="server restart", begun=story.now - SECOND, back=story.now, outage=True)
    story.wait(0.49)
    story.end("a")

    assert recoveries(story.evidence())["server back to the first completion"]["max"] == 0.5


def test_waiters_that_hear_and_those_that_do_not_are_told_apart() -> None:
    story = Story()
    for deaf in (False, True):
        name = f"job {deaf}"
        story.job(name)
        story.claim(name)
        begun = story.now
        story.end(name)
        story.wait(5.0 if deaf else 0.2)
        story.call("wait", "ok", {"chain": name, "timeout": 10.0, "deaf": deaf}, status="completed")
        story.calls[-1].begun = begun

    reported = recoveries(story.evidence())

    assert reported["chain ended to its waiter told, with wake-ups"]["max"] == 0.2
    assert reported["chain ended to its waiter told, without"]["max"] == 5.0


@pytest.mark.parametrize("knew", [True, False])
def test_a_waiter_whose_worker_died_before_it_knew_is_counted_and_not_measured(knew: bool) -> None:
    story = Story()
    story.job("a")
    story.claim("a", "t1", worker="w")
    begun = story.now
    story.note("beat")
    story.end("a")
    if knew:
        story.note("settled", job="a", token="t1", status="completed", written=True)
    story.wait(4)
    story.call("wait", "ok", {"chain": "a", "timeout": 10.0, "deaf": False}, status="completed")
    story.calls[-1].begun = begun

    reported = measure(story.evidence())["chain ended to its waiter told, with wake-ups"]

    assert (len(reported.seconds), reported.disturbed) == ((1, 0) if knew else (0, 1))


def test_what_happened_while_the_store_was_away_is_counted_and_not_measured() -> None:
    story = Story()
    for name, away in (("a", False), ("b", True)):
        story.job(name)
        story.claim(name, f"t1{name}")
        begun = story.now
        story.reap(name)
        story.wait(9 if away else 1)
        if away:
            story.note("fault", kind="server restart", begun=begun, back=story.now, outage=True)
        story.claim(name, f"t2{name}")
        story.end(name)

    reported = recoveries(story.evidence())["lease lost to the job running again"]

    assert (reported["times"], reported["disturbed"]) == (1, 1)
    assert reported["max"] < 2 < 9 < reported["whole"]
