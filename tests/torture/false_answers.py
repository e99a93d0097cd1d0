"""Scenarios in which a call returned a wrong answer, or too early or too late, and writes that came too late."""

from __future__ import annotations

from typing import Any

from tests.torture.builders import SECOND, Scenario, WriteScenario
from tests.torture.scenarios import correct_run
from torture.history import Note


def keyed(scenario: Scenario, id: str, key: str = "k") -> None:
    scenario.job(id, type="keyed", key=key)


def start_duplicate(scenario: Scenario, found: str, **args: Any) -> None:
    scenario.call(
        "start", "ok", {"ids": ["mine"], "type": "keyed", "key": "k"} | args, found=[found], deduplicated=[True]
    )


def start_acknowledged_before_it_was_written(scenario: Scenario) -> None:
    scenario.call("start", "ok", {"ids": ["a"]}, found=["a"], deduplicated=[False])
    scenario.wait(3)
    scenario.job("a")
    del scenario.calls[-1]


def start_returned_another_chain_as_new(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.call("start", "ok", {"ids": ["b"]}, found=["a"], deduplicated=[False])


def duplicate_of_another_key(scenario: Scenario) -> None:
    keyed(scenario, "a", "other")
    start_duplicate(scenario, "a")


def duplicate_of_another_type_without_a_key(scenario: Scenario) -> None:
    scenario.job("a")
    start_duplicate(scenario, "a")


def duplicate_of_a_chain_that_ended_long_before(scenario: Scenario) -> None:
    keyed(scenario, "a")
    scenario.claim("a")
    scenario.end("a")
    scenario.wait(10)
    start_duplicate(scenario, "a")


def duplicate_of_a_chain_whose_settlement_was_answered(scenario: Scenario) -> None:
    keyed(scenario, "a")
    scenario.claim("a")
    scenario.end("a")
    scenario.note("settled", job="a", token="t1", status="completed", written=True)
    scenario.wait(0.1)
    start_duplicate(scenario, "a")


def finished_row_overwritten(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.claim("a", "t1")
    scenario.end("a")
    scenario.end("a", token="t9")


def finished_row_renewed(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.claim("a", "t1")
    scenario.end("a", "cancelled", token=None)
    scenario.end("a", "cancelled", leased_until=scenario.now + SECOND)


def read_under_another_token(scenario: Scenario) -> None:
    correct_run(scenario)
    scenario.rows["a"] = {"token": "t9"}


def retry_acknowledged_and_never_done(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.claim("a")
    scenario.end("a", "failed")
    scenario.call("retry", "ok", {"job": "a"}, job="a")


def reopened_by_a_refused_retry(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.claim("a")
    scenario.end("a", "failed")
    scenario.end("a", "pending", attempt=0)
    scenario.call("retry", "fail", {"job": "a"}, error="NotRetryable")


def deleted_by_a_refused_delete(scenario: Scenario) -> None:
    scenario.job("a", keep=60 * SECOND)
    scenario.claim("a")
    scenario.end("a")
    scenario.delete("a")
    scenario.call("delete", "fail", {"chains": ["a"]}, error="StillReferenced")


def delete_acknowledged_and_never_done(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.claim("a")
    scenario.end("a")
    scenario.call("delete", "ok", {"chains": ["a"]}, deleted=["a"])


def cancel_acknowledged_before_it_was_written(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.call("cancel", "ok", {"chain": "a"}, status="cancelled")
    scenario.wait(5)
    scenario.end("a", "cancelled", token=None)


def completion_acknowledged_before_it_was_written(scenario: Scenario) -> None:
    scenario.job("a", type="approval")
    scenario.call("complete", "ok", {"chain": "a"})
    scenario.wait(5)
    scenario.end("a", token=None)


def losing_completer_got_not_found(scenario: Scenario) -> None:
    scenario.job("a", type="approval")
    scenario.end("a", token=None)
    scenario.call("complete", "ok", {"chain": "a"})
    scenario.calls[-1].begun -= SECOND
    scenario.call("complete", "fail", {"chain": "a"}, error="ChainNotFound")


def losing_completer_answered_before_the_end(scenario: Scenario) -> None:
    scenario.job("a", type="approval")
    scenario.call("complete", "fail", {"chain": "a"}, error="AlreadyCompleted")
    scenario.wait(5)
    scenario.claim("a")
    scenario.end("a")


def worker_that_never_detected_the_loss(scenario: Scenario) -> None:
    """The handler runs for eight more seconds, until its settlement is refused."""
    scenario.job("a", type="errand")
    scenario.claim("a", "t1", worker="worker-1")
    scenario.notes.append(Note("worker-1", "handler", scenario.now, {"job": "a", "token": "t1"}))
    scenario.end("a", token=None)
    scenario.call("complete", "ok", {"chain": "a"})
    scenario.calls[-1].begun -= SECOND
    for _ in range(16):
        scenario.wait(0.5)
        scenario.notes.append(Note("worker-1", "beat", scenario.now, {}))
    settled = {"job": "a", "token": "t1", "status": "completed", "written": False}
    scenario.notes.append(Note("worker-1", "settled", scenario.now, settled))


def claimed_before_the_requested_time(scenario: Scenario) -> None:
    """The store made the job due at once, without a call of `run_now`."""
    scenario.job("a")
    scenario.calls[-1].args["delay"] = 2.0
    scenario.claim("a")


def payload_that_fails_its_job(scenario: Scenario) -> None:
    scenario.job("a", type="echo")
    scenario.claim("a")
    scenario.end("a", "failed")
    scenario.call("echo", "fail", {"value": "''", "chain": "a"}, error="ChainFailed")


def waiter_got_an_error(scenario: Scenario) -> None:
    correct_run(scenario)
    scenario.call("wait", "fail", {"chain": "a", "timeout": 5.0}, error="ChainNotFound")


def waiter_that_never_returned(scenario: Scenario) -> None:
    correct_run(scenario)
    scenario.call("wait", "info", {"chain": "a", "timeout": 5.0})
    scenario.calls[-1].ended = None
    for _ in range(60):
        scenario.wait(0.5)
        scenario.notes.append(Note("p", "beat", scenario.now, {}))


def waiter_without_a_wakeup(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.claim("a", worker="w")
    begun = scenario.now
    scenario.end("a")
    scenario.note("settled", job="a", token="t1", status="completed", written=True)
    for _ in range(9):
        scenario.wait(0.5)
        scenario.note("beat")
    scenario.call("wait", "ok", {"chain": "a", "timeout": 10.0, "without_wakeups": False}, status="completed")
    scenario.calls[-1].begun = begun
    scenario.wait(0.5)
    scenario.note("beat")


def continuation_written_afterwards(scenario: Scenario) -> None:
    scenario.job("c")
    scenario.claim("c")
    scenario.end("c")
    scenario.job("x")
    scenario.wait(0.5)
    scenario.job("c2", chain="c", index=1)


def unblocked_long_afterwards(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.job("b", after="blocked")
    scenario.calls[-1].args["after"] = {"b": ["a"]}
    scenario.claim("a")
    scenario.end("a")
    scenario.job("x")
    scenario.wait(20)
    scenario.end("b", "pending")


def cancel_returned_a_status_that_never_was(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.claim("a")
    scenario.end("a")
    scenario.call("cancel", "ok", {"chain": "a"}, status="cancelled")


def two_winners(scenario: Scenario) -> None:
    scenario.job("a", type="approval")
    scenario.end("a", token=None)
    for _ in range(2):
        scenario.call("complete", "ok", {"chain": "a"})


def waiter_got_the_wrong_status(scenario: Scenario) -> None:
    correct_run(scenario)
    scenario.call("wait", "ok", {"chain": "a", "timeout": 5.0}, status="failed")


def waiter_returned_late(scenario: Scenario) -> None:
    correct_run(scenario)
    begun = scenario.calls[-1].begun
    scenario.wait(60)
    scenario.call("wait", "ok", {"chain": "a", "timeout": 90.0}, status="completed")
    scenario.calls[-1].begun = begun


def waiter_got_the_output_of_an_earlier_job(scenario: Scenario) -> None:
    correct_run(scenario)
    scenario.call("wait", "ok", {"chain": "c", "timeout": 5.0}, status="completed", output="half")


def waiter_got_not_found(scenario: Scenario) -> None:
    correct_run(scenario)
    scenario.call("wait", "ok", {"chain": "a", "timeout": 5.0}, status="gone")


def waiter_returned_after_its_timeout(scenario: Scenario) -> None:
    scenario.job("a")
    begun = scenario.now
    scenario.wait(60)
    scenario.call("wait", "ok", {"chain": "a", "timeout": 0.5}, status="timeout")
    scenario.calls[-1].begun = begun


FALSE_ANSWERS: list[tuple[int, WriteScenario]] = [
    (1, start_acknowledged_before_it_was_written),
    (1, start_returned_another_chain_as_new),
    (14, duplicate_of_another_key),
    (14, duplicate_of_another_type_without_a_key),
    (14, duplicate_of_a_chain_that_ended_long_before),
    (14, duplicate_of_a_chain_whose_settlement_was_answered),
    (4, finished_row_overwritten),
    (4, finished_row_renewed),
    (4, read_under_another_token),
    (4, retry_acknowledged_and_never_done),
    (4, reopened_by_a_refused_retry),
    (19, deleted_by_a_refused_delete),
    (19, delete_acknowledged_and_never_done),
    (16, cancel_acknowledged_before_it_was_written),
    (17, completion_acknowledged_before_it_was_written),
    (17, losing_completer_got_not_found),
    (17, losing_completer_answered_before_the_end),
    (17, worker_that_never_detected_the_loss),
    (9, claimed_before_the_requested_time),
    (20, payload_that_fails_its_job),
    (18, waiter_got_an_error),
    (18, waiter_that_never_returned),
    (18, waiter_without_a_wakeup),
    (16, cancel_returned_a_status_that_never_was),
    (17, two_winners),
    (18, waiter_got_the_wrong_status),
    (18, waiter_returned_late),
    (18, waiter_got_the_output_of_an_earlier_job),
    (18, waiter_got_not_found),
    (18, waiter_returned_after_its_timeout),
    (12, continuation_written_afterwards),
    (13, unblocked_long_afterwards),
]
