"""Answers of calls compared with the audit: each false answer is detected, and similar correct ones are not."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.torture.builders import SECOND, Scenario, WriteScenario, verdicts
from tests.torture.false_answers import (
    FALSE_ANSWERS,
    claimed_before_the_requested_time,
    continuation_written_afterwards,
    finished_row_overwritten,
    keyed,
    retry_acknowledged_and_never_done,
    start_duplicate,
    worker_that_never_detected_the_loss,
)
from torture import payloads
from torture.checker import Result, check


@pytest.mark.parametrize(
    ("number", "write"), FALSE_ANSWERS, ids=[f"I{number}-{write.__name__}" for number, write in FALSE_ANSWERS]
)
def test_each_false_answer_is_detected(number: int, write: WriteScenario) -> None:
    assert verdicts(write)[number] is Result.VIOLATED


def test_a_batch_may_be_incomplete_between_two_atomic_parts() -> None:
    def in_pieces(scenario: Scenario) -> None:
        for id in ("a", "b"):
            scenario.job(id)
        scenario.call("start", "info", {"ids": ["a", "b", "c", "d"], "together": 2})

    assert verdicts(in_pieces)[1] is Result.OK


def test_a_duplicate_may_end_during_the_start() -> None:
    def ended_meanwhile(scenario: Scenario) -> None:
        keyed(scenario, "a")
        scenario.claim("a")
        begun = scenario.now
        scenario.end("a")
        scenario.wait(1)
        start_duplicate(scenario, "a")
        scenario.calls[-1].begun = begun

    assert verdicts(ended_meanwhile)[14] is not Result.VIOLATED


def test_a_chain_may_be_found_unfinished_before_its_end_is_committed() -> None:
    def frozen(scenario: Scenario) -> None:
        keyed(scenario, "a")
        scenario.claim("a")
        scenario.end("a")
        scenario.wait(10)
        start_duplicate(scenario, "a")
        scenario.note("settled", job="a", token="t1", status="completed", written=True)

    assert verdicts(frozen)[14] is not Result.VIOLATED


def test_run_now_allows_a_claim_before_the_requested_time() -> None:
    def run_now(scenario: Scenario) -> None:
        claimed_before_the_requested_time(scenario)
        scenario.call("run_now", "ok", {"chain": "a"})

    assert verdicts(run_now)[9] is Result.VACUOUS


def test_a_retry_allows_a_claim_before_the_requested_time() -> None:
    def retried(scenario: Scenario) -> None:
        scenario.job("a")
        scenario.calls[-1].args["delay"] = 2.0
        scenario.end("a", "cancelled")
        scenario.end("a", "pending")
        scenario.claim("a")

    assert verdicts(retried)[9] is Result.VACUOUS


def test_a_job_that_failed_by_reaps_does_not_count_against_its_payload() -> None:
    def unlucky(scenario: Scenario) -> None:
        scenario.job("a", type="echo", max_attempts=1)
        scenario.claim("a")
        scenario.reap("a")
        scenario.changes[-1] = replace(scenario.changes[-1], after="failed")
        scenario.call("echo", "fail", {"value": "''", "chain": "a"}, error="ChainFailed")

    assert verdicts(unlucky)[20] is not Result.VIOLATED


@pytest.mark.parametrize(("left_out", "result"), [(0, Result.OK), (1, Result.VACUOUS)])
def test_a_long_run_must_use_every_odd_value(left_out: int, result: Result) -> None:
    def echoed(scenario: Scenario) -> None:
        for value in payloads.ODD[left_out:]:
            scenario.call("echo", "ok", {"value": payloads.name(value)}, equal=True, got="")
        for name in payloads.REFUSED:
            scenario.call("refuse", "ok", {"value": name}, error="PayloadRefused")

    assert verdicts(echoed)[20] is result


def test_a_handler_that_ends_soon_is_vacuous_for_lost_claims() -> None:
    def soon_over(scenario: Scenario) -> None:
        worker_that_never_detected_the_loss(scenario)
        scenario.notes[-1].at -= 7 * SECOND
        scenario.notes.sort(key=lambda note: note.at)

    assert verdicts(soon_over)[17] is Result.VACUOUS


def test_chains_of_one_job_are_vacuous_for_chains() -> None:
    def single(scenario: Scenario) -> None:
        scenario.job("a")
        scenario.claim("a")
        scenario.end("a")

    assert verdicts(single)[12] is Result.VACUOUS


@pytest.mark.parametrize(("ended", "result"), [("cancelled", Result.VACUOUS), ("completed", Result.VIOLATED)])
def test_a_job_may_fail_at_its_creation_if_its_blocker_had_failed(ended: str, result: Result) -> None:
    def late(scenario: Scenario) -> None:
        scenario.job("a", tx="1")
        scenario.end("a", ended, tx="2")
        scenario.job("b", after="blocked", tx="3")
        scenario.calls[-1].args["after"] = {"b": ["a"]}
        scenario.end("b", "failed", token=None, tx="3")

    assert verdicts(late)[13] is result


@pytest.mark.parametrize(
    ("workers", "apart", "result"),
    [
        (("w1", "w2"), 0.04, Result.OK),
        (("w1", "w1"), 0.04, Result.VACUOUS),
        (("w1", "w2"), 0.0, Result.VACUOUS),
    ],
)
def test_a_tie_of_blockers_needs_two_workers(workers: tuple[str, str], apart: float, result: Result) -> None:
    def tied(scenario: Scenario) -> None:
        for name, worker in zip(("a", "b"), workers, strict=True):
            scenario.job(name)
            scenario.claim(name, f"t{name}", worker=worker)
        scenario.job("c", after="blocked")
        scenario.calls[-1].args["after"] = {"c": ["a", "b"]}
        scenario.end("a")
        scenario.now += round(apart * SECOND) - SECOND // 100
        scenario.end("b")
        scenario.end("c", "pending", token=None)
        scenario.claim("c", "tc")
        scenario.end("c")

    assert verdicts(tied)[13] is result


@pytest.mark.parametrize(
    ("number", "write", "result"),
    [
        (4, finished_row_overwritten, Result.VIOLATED),
        (22, finished_row_overwritten, Result.VIOLATED),
        (4, retry_acknowledged_and_never_done, Result.LOST),
        (22, retry_acknowledged_and_never_done, Result.LOST),
        (12, continuation_written_afterwards, Result.VIOLATED),
    ],
)
def test_a_violation_that_the_audit_proves_is_no_loss(number: int, write: WriteScenario, result: Result) -> None:
    scenario = Scenario()
    write(scenario)
    scenario.facts.durability = "everysec"

    assert {verdict.number: verdict.result for verdict in check(scenario.evidence())}[number] is result
