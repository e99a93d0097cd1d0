"""The checker on attempts: how they end, stale writes, releases and limits."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.torture.builders import SECOND, Scenario, verdicts
from torture.checker import Result, check
from torture.history import Note


@pytest.mark.parametrize("how", ["completed", "pending", "cancelled", "renewed"])
@pytest.mark.parametrize(("seconds", "result"), [(1, Result.OK), (40, Result.VIOLATED)])
def test_a_lease_that_was_not_reaped_in_time_is_detected_however_it_ends(
    how: str, seconds: int, result: Result
) -> None:
    def forgotten(scenario: Scenario) -> None:
        scenario.job("a")
        scenario.claim("a", leased_until=scenario.now)
        scenario.wait(seconds)
        if how == "renewed":
            scenario.end("a", "running", worker="w", leased_until=scenario.now + SECOND)
        scenario.end("a", how.replace("renewed", "completed"))

    assert verdicts(forgotten)[10] is result


def test_a_lease_that_expired_during_an_outage_is_excused() -> None:
    def away(scenario: Scenario) -> None:
        scenario.job("a")
        scenario.claim("a", leased_until=scenario.now)
        begun = scenario.now
        scenario.wait(40)
        scenario.note("fault", kind="server kill", begun=begun, outage=True)
        scenario.end("a")

    assert verdicts(away)[10] is Result.OK


def taken_away(scenario: Scenario, how: str) -> None:
    """A running job is cancelled, completed from outside, deleted or reaped."""
    scenario.job("a")
    scenario.claim("a", "t1")
    match how:
        case "cancelled":
            scenario.end("a", "cancelled", token=None)
            scenario.call("cancel", "ok", {"chain": "a"}, status="cancelled")
        case "completed":
            scenario.end("a", "completed", token=None)
            scenario.call("complete", "ok", {"chain": "a"}, job="a")
        case "deleted":
            scenario.delete("a")
            scenario.call("delete", "ok", {"chains": ["a"]}, deleted=["a"])
        case _:
            scenario.reap("a")
            scenario.claim("a", "t2")


@pytest.mark.parametrize("how", ["cancelled", "completed", "deleted", "reaped"])
@pytest.mark.parametrize("verb", ["renew", "progress"])
def test_a_write_accepted_after_the_end_of_the_claim_is_a_violation(verb: str, how: str) -> None:
    def accepted(scenario: Scenario) -> None:
        taken_away(scenario, how)
        scenario.wait(2)
        scenario.note("accepted", verb=verb, asked=scenario.now, claims=[("a", "t1")])

    assert verdicts(accepted)[7] is Result.VIOLATED


def test_a_write_accepted_before_the_end_was_committed_is_no_violation() -> None:
    def passed_over(scenario: Scenario) -> None:
        scenario.job("a", tx="1")
        scenario.claim("a", "t1", tx="2")
        scenario.end("a", "cancelled", token=None, tx="3")
        scenario.wait(2)
        scenario.note("accepted", verb="renew", asked=scenario.now, claims=[("a", "t1")])
        scenario.call("cancel", "ok", {"chain": "a"}, status="cancelled")

    assert verdicts(passed_over)[7] is not Result.VIOLATED


@pytest.mark.parametrize(("ended_again", "result"), [(False, Result.OK), (True, Result.VIOLATED)])
def test_a_repeated_claim_may_renew_a_job_that_was_reaped_before_the_repetition(
    ended_again: bool, result: Result
) -> None:
    def repeated(scenario: Scenario) -> None:
        scenario.job("a")
        scenario.claim("a", "t1")  # the answer to this claim is lost
        scenario.reap("a")
        scenario.claim("a", "t1")
        if ended_again:
            scenario.reap("a")
            scenario.claim("a", "t2")
        scenario.wait(2)
        scenario.note("accepted", verb="renew", asked=scenario.now, claims=[("a", "t1")])
        scenario.note("stale", verb="renew", job="a", token="t0", reason="taken_by_another_worker")

    assert verdicts(repeated)[7] is result


@pytest.mark.parametrize("field", ["leased_until", "token"])
def test_the_audit_alone_shows_a_lease_or_token_of_a_job_that_does_not_run(field: str) -> None:
    written = {"leased_until": 2_000 * SECOND, "token": None} if field == "leased_until" else {"token": "t1"}

    def renewed(scenario: Scenario) -> None:
        scenario.job("a")
        scenario.claim("a", "t1")
        scenario.end("a", "cancelled", token=None)
        scenario.wait(2)
        scenario.end("a", "cancelled", **written)
        scenario.facts.durability = "everysec"

    assert verdicts(renewed)[7] is Result.VIOLATED


@pytest.mark.parametrize(
    ("reported", "attempt", "result"),
    [(True, 0, Result.OK), (True, 1, Result.VIOLATED), (False, 0, Result.OK), (False, 1, Result.OK)],
)
def test_a_written_release_gives_the_attempt_back(reported: bool, attempt: int, result: Result) -> None:
    def released(scenario: Scenario) -> None:
        scenario.job("a")
        scenario.claim("a", "t1")
        scenario.note("releasing", job="a", token="t1")
        scenario.end("a", "pending", attempt=attempt)
        if reported:
            scenario.note("settled", job="a", token="t1", status="pending", written=True)

    assert verdicts(released)[8] is result


@pytest.mark.parametrize(("lost", "result"), [(True, Result.OK), (False, Result.VACUOUS)])
def test_only_a_claim_after_a_lost_one_is_an_opportunity_for_an_overlap(lost: bool, result: Result) -> None:
    def again(scenario: Scenario) -> None:
        scenario.job("a")
        scenario.claim("a", "t1")
        if lost:
            scenario.reap("a")
        else:
            scenario.end("a", "pending")
        scenario.claim("a", "t2")
        scenario.end("a")

    assert verdicts(again)[6] is result


@pytest.mark.parametrize(("meanwhile", "result"), [(True, Result.OK), (False, Result.VIOLATED)])
def test_other_jobs_must_complete_while_poison_kills_workers(meanwhile: bool, result: Result) -> None:
    def poisoned(scenario: Scenario) -> None:
        scenario.job("b")
        scenario.job("a", type="poison", max_attempts=1)
        scenario.claim("a", "t1")
        scenario.claim("b", "t2", leased_until=scenario.now + 60 * SECOND)
        if meanwhile:
            scenario.end("b")
        scenario.wait(5)
        scenario.reap("a")
        scenario.changes[-1] = replace(scenario.changes[-1], after="failed")
        if not meanwhile:
            scenario.end("b")

    assert verdicts(poisoned)[11] is result


@pytest.mark.parametrize(("total", "result"), [(20, Result.OK), (17, Result.VIOLATED), (5020, Result.VIOLATED)])
def test_a_snapshot_shows_the_number_of_existing_jobs(total: int, result: Result) -> None:
    def counted(scenario: Scenario) -> None:
        for number in range(25):
            scenario.job(f"j{number}")
        for number in range(5):
            scenario.delete(f"j{number}")
            scenario.call("delete", "ok", {"chains": [f"j{number}"]}, deleted=[f"j{number}"])
        scenario.wait(1)
        scenario.call("stats", "ok", {}, total=total)

    assert verdicts(counted)[29] is result


@pytest.mark.parametrize("total", [0, 1])
def test_a_snapshot_may_omit_a_job_before_its_start_returned(total: int) -> None:
    def open_still(scenario: Scenario) -> None:
        scenario.job("a")
        scenario.calls.clear()
        scenario.wait(1)
        scenario.call("stats", "ok", {}, total=total)
        scenario.wait(1)
        scenario.call("start", "ok", {"ids": ["a"]}, found=["a"], deduplicated=[False])

    assert verdicts(open_still)[29] is Result.OK


@pytest.mark.parametrize(
    ("reasons", "trouble", "result"),
    [
        (["error"] * 3, False, Result.VIOLATED),
        (["error"] * 3, True, Result.VACUOUS),
        (["error"], False, Result.VACUOUS),
        (["error"] * 3 + ["already_completed"] * 3, False, Result.VIOLATED),
        (["error"] * 3 + ["already_completed"] * 10, False, Result.VACUOUS),
    ],
)
def test_most_aborted_handlers_get_the_reason(reasons: list[str], trouble: bool, result: Result) -> None:
    def thawed(scenario: Scenario) -> None:
        for number, reason in enumerate(reasons):
            job_id = f"j{number}"
            scenario.job(job_id)
            scenario.claim(job_id, "t1")
            scenario.reap(job_id)
            scenario.claim(job_id, "t2")
            scenario.end(job_id)
            if trouble:
                scenario.note("event", kind="store_error", job=None, attempt=None, detail="away")
            scenario.note("aborted", job=job_id, token="t1", reason=reason)

    assert verdicts(thawed)[7] is result


def test_an_abort_before_the_claim_has_ended_needs_no_reason() -> None:
    def fenced(scenario: Scenario) -> None:
        for number in range(3):
            scenario.job(f"j{number}")
            scenario.claim(f"j{number}", "t1")
            scenario.note("aborted", job=f"j{number}", token="t1", reason="error")
            scenario.reap(f"j{number}")

    assert verdicts(fenced)[7] is Result.VACUOUS


@pytest.mark.parametrize(("number", "result"), [(8, Result.OK), (500, Result.OK), (501, Result.VIOLATED)])
def test_a_worker_claims_no_more_than_it_may_ahead(number: int, result: Result) -> None:
    def many(scenario: Scenario) -> None:
        scenario.facts.concurrency, scenario.facts.timely = 8, False
        for place in range(number):
            scenario.job(f"j{place}")
        for place in range(number):
            scenario.claim(f"j{place}", "t1", tx="7")

    assert verdicts(many)[28] is result


@pytest.mark.parametrize(
    ("asked", "number", "result"),
    [((8,), 8, Result.OK), ((8,), 9, Result.VIOLATED), ((8, 3), 11, Result.OK), ((8, 3), 12, Result.VIOLATED)],
)
def test_a_claim_gets_no_more_jobs_than_it_asks_for(asked: tuple[int, ...], number: int, result: Result) -> None:
    def many(scenario: Scenario) -> None:
        scenario.facts.concurrency, scenario.facts.timely = 8, False
        for jobs in asked:
            scenario.note("claiming", token="t1", jobs=jobs)
        for place in range(number):
            scenario.job(f"j{place}")
        for place in range(number):
            scenario.claim(f"j{place}", "t1")

    assert verdicts(many)[28] is result


@pytest.mark.parametrize(("too_many", "result"), [(False, Result.OK), (True, Result.VIOLATED)])
def test_a_worker_runs_no_more_handlers_than_it_has_slots(too_many: bool, result: Result) -> None:
    def run(scenario: Scenario) -> None:
        scenario.facts.concurrency = 8
        scenario.job("a")
        scenario.claim("a", "t1")
        scenario.note("handler", job="a", token="t1", attempt=1, type="work")
        if too_many:
            scenario.note("too many handlers", running=9)

    assert verdicts(run)[38] is result


@pytest.mark.parametrize(("made", "result"), [(100, Result.OK), (5000, Result.VIOLATED)])
def test_reconnections_without_a_pause_are_detected(made: int, result: Result) -> None:
    def reconnecting(scenario: Scenario) -> None:
        scenario.facts.timely = False
        scenario.facts.leaks = {"connections made": made}
        for second in range(30):
            scenario.notes.append(Note("worker-1", "beat", scenario.now + second * SECOND, {}))

    assert verdicts(reconnecting)[28] is result


@pytest.mark.parametrize(
    ("error", "result"), [(1_158, Result.VACUOUS), (20_000, Result.OK), (200_000, Result.VIOLATED)]
)
def test_only_large_errors_test_the_limit_of_errors(error: int, result: Result) -> None:
    scenario = Scenario()
    scenario.job("a")
    scenario.claim("a")
    scenario.end("a", "failed")
    scenario.rows["a"] = {"error_bytes": error}

    assert {verdict.number: verdict.result for verdict in check(scenario.evidence())}[28] is result
