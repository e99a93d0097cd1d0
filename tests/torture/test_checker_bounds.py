"""Time limits in the checker: which delays are excused, and which are violations."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.torture.builders import SECOND, Scenario, verdicts
from torture.checker import Result, check
from torture.history import Note


def test_a_released_attempt_does_not_count_for_poison() -> None:
    def given_back(scenario: Scenario) -> None:
        scenario.job("a", type="poison", max_attempts=1)
        scenario.claim("a", "t1")
        scenario.end("a", "pending", attempt=0)
        scenario.note("releasing", job="a", token="t1")
        scenario.claim("a", "t2")
        scenario.reap("a")
        scenario.changes[-1] = replace(scenario.changes[-1], after="failed")
        scenario.job("b")
        scenario.claim("b", "t3")
        scenario.end("b")

    scenario = Scenario()
    given_back(scenario)
    evidence = scenario.evidence()

    assert {verdict.number: verdict.result for verdict in check(evidence)}[11] is Result.OK


def test_outages_of_the_store_do_not_count() -> None:
    def excused(scenario: Scenario) -> None:
        scenario.job("a")
        begun = scenario.now
        scenario.wait(600)
        scenario.note("fault", kind="server restart", begun=begun, outage=True)
        scenario.claim("a")

    assert verdicts(excused)[23] is Result.OK


@pytest.mark.parametrize(("awake", "result"), [("w1", Result.OK), ("w1 and w2", Result.VIOLATED)])
def test_a_lease_is_reaped_in_time_while_a_worker_is_available(awake: str, result: Result) -> None:
    def late(scenario: Scenario) -> None:
        scenario.facts.begun = scenario.now
        scenario.job("a")
        scenario.claim("a", worker="worker-1")
        for half in range(80):
            scenario.wait(0.5)
            # Worker 1 is frozen for half a minute; worker 2, if there is one, is not.
            if half < 6 or half > 66:
                scenario.notes.append(Note("worker-1", "beat", scenario.now, {}))
            if awake == "w1 and w2":
                scenario.notes.append(Note("worker-2", "beat", scenario.now, {}))
        scenario.now -= 6 * SECOND
        scenario.reap("a")
        scenario.wait(6)
        scenario.claim("a", "t2")
        scenario.end("a")

    assert verdicts(late)[10] is result


def test_a_stopping_worker_does_not_count_as_available() -> None:
    def stopping(scenario: Scenario) -> None:
        scenario.facts.begun = scenario.now - 60 * SECOND
        beat(scenario, "worker-1", since=scenario.facts.begun, until=scenario.now + 40 * SECOND)
        scenario.job("a")
        scenario.claim("a")
        scenario.notes.append(Note("worker-1", "event", scenario.now, {"kind": "worker_stopping"}))
        scenario.wait(40)
        scenario.reap("a")
        scenario.claim("a", "t2")
        scenario.end("a")

    assert verdicts(stopping)[10] is Result.OK


@pytest.mark.parametrize(("seconds", "result"), [(60, Result.OK), (400, Result.VACUOUS)])
def test_a_time_limit_that_was_mostly_excused_is_vacuous(seconds: int, result: Result) -> None:
    def mostly_away(scenario: Scenario) -> None:
        begun = scenario.facts.begun = scenario.now
        scenario.job("a")
        scenario.wait(seconds)
        scenario.note("fault", kind="server kill", begun=begun, outage=True)
        scenario.claim("a")
        scenario.reap("a")
        scenario.claim("a", "t2")
        scenario.end("a")
        scenario.wait(30)

    judged = verdicts(mostly_away)

    assert judged[10] is judged[23] is result


def beat(scenario: Scenario, process: str, *, since: int, until: int) -> None:
    """Write beats of a process."""
    scenario.notes += [Note(process, "beat", at, {}) for at in range(since, until, SECOND // 2)]


@pytest.mark.parametrize(("seconds", "result"), [(1, Result.OK), (20, Result.VIOLATED), (None, Result.VIOLATED)])
@pytest.mark.parametrize(("how", "number"), [("cancelled", 16), ("completed", 17)])
def test_a_living_worker_detects_that_its_claim_was_lost(
    how: str, number: int, seconds: int | None, result: Result
) -> None:
    def taken(scenario: Scenario) -> None:
        scenario.job("a")
        scenario.claim("a", "t1", worker="worker-1")
        scenario.notes.append(Note("worker-1", "handler", scenario.now, {"job": "a", "token": "t1"}))
        scenario.end("a", how, token=None)
        if how == "completed":
            scenario.call("complete", "ok", {"chain": "a"})
            scenario.call("complete", "fail", {"chain": "a"}, error="AlreadyCompleted")
            scenario.calls[-2].begun -= SECOND
        for second in range(30):
            scenario.notes.append(Note("worker-1", "beat", scenario.now, {}))
            if second == seconds:
                scenario.notes.append(
                    Note("worker-1", "stale", scenario.now, {"job": "a", "token": "t1", "verb": "renew"})
                )
            scenario.wait(1)

    assert verdicts(taken)[number] is result


def test_a_worker_without_the_answer_to_its_claim_does_not_hold_it() -> None:
    def unanswered(scenario: Scenario) -> None:
        scenario.job("a")
        scenario.claim("a", worker="w")
        scenario.note("failpoint", verb="claim", when="after", action="fail")
        scenario.note("exit", worker="w", code=0, asked=scenario.now)
        scenario.reap("a")
        scenario.claim("a", "t2")
        scenario.end("a")

    assert verdicts(unanswered)[21] is Result.OK


def test_blockers_that_never_end_together_are_vacuous() -> None:
    def one_after_the_other(scenario: Scenario) -> None:
        for name in ("a", "b"):
            scenario.job(name)
            scenario.claim(name, f"t{name}")
            scenario.end(name)
            scenario.wait(1)
        scenario.job("c")
        scenario.call("start", "ok", {"ids": ["c"], "after": {"c": ["a", "b"]}}, found=["c"], deduplicated=[False])
        scenario.claim("c", "tc")
        scenario.end("c")

    assert verdicts(one_after_the_other)[13] is Result.VACUOUS


@pytest.mark.parametrize(("doubled", "result"), [(0, Result.VACUOUS), (1, Result.OK)])
def test_wakeups_must_be_both_lost_and_repeated(doubled: int, result: Result) -> None:
    assert verdicts(lambda scenario: scenario.note("hints", dropped=9, doubled=doubled))[27] is result


def test_a_time_limit_is_only_measured_without_timely() -> None:
    def late(scenario: Scenario) -> None:
        scenario.job("a")
        scenario.wait(600)
        scenario.claim("a")

    def leniently(scenario: Scenario) -> None:
        late(scenario)
        scenario.facts.timely = False

    assert verdicts(late)[23] is Result.VIOLATED
    assert verdicts(leniently)[23] is Result.VACUOUS


@pytest.mark.parametrize("pace", [25, 200])
@pytest.mark.parametrize(
    ("earlier", "priority", "result"),
    [
        pytest.param(True, 0, Result.OK, id="made-before-it"),
        pytest.param(False, 5, Result.OK, id="more-urgent"),
        pytest.param(False, 0, Result.VIOLATED, id="made-after-it"),
        pytest.param(True, -5, Result.VIOLATED, id="less-urgent"),
    ],
)
def test_a_job_may_wait_only_for_jobs_before_it_in_the_order(
    earlier: bool, priority: int, result: Result, pace: int
) -> None:
    def behind_many(scenario: Scenario) -> None:
        if not earlier:
            scenario.job("last")
        for number in range(1200):
            scenario.job(f"j{number}", priority=priority, scheduled_at=scenario.now)
        if earlier:
            scenario.job("last")
        due = scenario.now
        for number in range(1200):
            scenario.now = due + number * SECOND // pace
            scenario.claim(f"j{number}", f"t{number}", leased_until=scenario.now + 200 * SECOND)
        scenario.claim("last")

    assert verdicts(behind_many)[23] is result


def test_jobs_of_a_paused_type_may_wait() -> None:
    def left_paused(scenario: Scenario) -> None:
        scenario.job("a", type="keyed")
        scenario.call("pause", "ok", {"type": "keyed"})
        scenario.wait(600)
        scenario.call("resume", "ok", {"type": "keyed"})
        scenario.claim("a")

    assert verdicts(left_paused)[23] is Result.OK
