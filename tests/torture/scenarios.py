"""A scenario without violations, and one for each kind of violation, with the invariant that must detect it."""

from __future__ import annotations

from tests.torture.builders import Scenario, WriteScenario
from tests.torture.maintenance_scenarios import MAINTENANCE


def correct_run(scenario: Scenario) -> None:
    """A job that was reaped once and then completed; a chain of two jobs; a cancel; a wait; a delayed start."""
    scenario.job("a")
    scenario.claim("a", "t1")
    scenario.note("handler", job="a", token="t1", attempt=1, type="work")
    scenario.reap("a")
    scenario.claim("a", "t2")
    scenario.note("handler", job="a", token="t2", attempt=2, type="work")
    scenario.note("settled", job="a", token="t1", status="completed", written=False)
    scenario.end("a")
    scenario.note("settled", job="a", token="t2", status="completed", written=True)
    scenario.facts.ledger = [("a", 2, "t2")]
    scenario.note("promise", job="a", ledger=True, effect=False)
    scenario.call("wait", "ok", {"chain": "a", "timeout": 5.0}, status="completed")
    scenario.job("c")
    scenario.claim("c", "t3")
    scenario.job("c2", chain="c", index=1)
    scenario.end("c")
    scenario.claim("c2", "t4")
    scenario.end("c2")
    scenario.rows["c"] = {"output": None}
    scenario.job("x")
    scenario.end("x", "cancelled")
    scenario.call("cancel", "ok", {"chain": "x"}, status="cancelled")
    scenario.job("d", scheduled_at=scenario.now + 2_000_000)
    scenario.calls[-1].args["delay"] = 2.0
    scenario.wait(3)
    scenario.claim("d", "t5")
    scenario.end("d")


def lost(scenario: Scenario) -> None:
    scenario.call("start", "ok", {"ids": ["a"]}, found=["a"], deduplicated=[False])


def created_although_refused(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.call("start", "fail", {"ids": ["b"]})
    scenario.job("b")


def half_a_batch(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.call("start", "info", {"ids": ["a", "b"], "together": 2})


def phantom(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.calls.clear()


def continuation_before_the_completion(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.job("b", chain="a", index=1)


def business_without_job(scenario: Scenario) -> None:
    scenario.call("start", "info", {"ids": ["a"], "business": True})
    scenario.facts.business = ["a"]


def completed_twice(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.claim("a", "t1")
    scenario.end("a")
    scenario.claim("a", "t2")
    scenario.end("a")


def effect_twice(scenario: Scenario) -> None:
    correct_run(scenario)
    scenario.facts.ledger.append(("a", 1, "t1"))


def effect_of_a_stale_attempt(scenario: Scenario) -> None:
    correct_run(scenario)
    scenario.facts.ledger = [("a", 1, "t1")]


def side_chain_missing(scenario: Scenario) -> None:
    correct_run(scenario)
    scenario.note("promise", job="a", ledger=True, effect=True)


def stolen(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.claim("a", "t1")
    scenario.claim("a", "t2")


def reaped_early(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.claim("a", "t1")
    scenario.end("a", "pending", token=None)


def run_twice(scenario: Scenario) -> None:
    correct_run(scenario)
    scenario.note("handler", job="a", token="t2", attempt=2, type="work")


def created_twice(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.delete("a")
    scenario.job("a")


def without_a_lease(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.claim("a", leased_until=None)


def settled_after_the_reap(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.claim("a", "t1")
    scenario.reap("a")
    scenario.claim("a", "t2")
    scenario.end("a", "pending")
    scenario.note("settled", job="a", token="t1", status="pending", written=True)


def settled_as_something_else(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.claim("a", "t1")
    scenario.end("a", "failed")
    scenario.note("settled", job="a", token="t1", status="completed", written=True)


def renewed_after_another_claim(scenario: Scenario) -> None:
    correct_run(scenario)
    scenario.note("accepted", verb="renew", asked=scenario.now, claims=[("a", "t1")])


def stale_write(scenario: Scenario) -> None:
    correct_run(scenario)
    scenario.note("settled", job="a", token="t9", status="completed", written=True)


def ended_under_another_token(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.claim("a", "t1")
    scenario.end("a", token="t2")


def output_of_another(scenario: Scenario) -> None:
    correct_run(scenario)
    scenario.rows["a"] = {"output": "token:t1"}


def attempt_skipped(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.claim("a", attempt=2)


def attempt_beyond_the_limit(scenario: Scenario) -> None:
    scenario.job("a", max_attempts=1)
    scenario.claim("a")
    scenario.reap("a")
    scenario.claim("a")


def early(scenario: Scenario) -> None:
    scenario.job("a", scheduled_at=scenario.now + 5_000_000)
    scenario.claim("a")


def late_reaper(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.claim("a")
    scenario.wait(30)
    scenario.reap("a")


def poison_never_fails(scenario: Scenario) -> None:
    scenario.job("a", type="poison", max_attempts=1)
    scenario.claim("a")
    scenario.reap("a")


def missing_continuation(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.claim("a")
    scenario.end("a")
    scenario.rows["a"] = {"output": None}


def never_unblocked(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.claim("a")
    scenario.end("a")
    scenario.job("b", after="blocked")
    scenario.call("start", "ok", {"ids": ["b"], "after": {"b": ["a"]}}, found=["b"], deduplicated=[False])


def started_before_its_blocker(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.job("b")
    scenario.call("start", "ok", {"ids": ["b"], "after": {"b": ["a"]}}, found=["b"], deduplicated=[False])
    scenario.claim("b")


def unblocked_in_another_transaction(scenario: Scenario) -> None:
    scenario.job("a", tx="1")
    scenario.job("b", after="blocked", tx="2")
    scenario.call("start", "ok", {"ids": ["b"], "after": {"b": ["a"]}}, found=["b"], deduplicated=[False])
    scenario.claim("a", tx="3")
    scenario.end("a", tx="4")
    scenario.end("b", "pending", tx="5")


def two_chains_with_one_key(scenario: Scenario) -> None:
    scenario.job("a", type="keyed", key="k")
    scenario.job("b", type="keyed", key="k")


def completed_after_cancel(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.claim("a")
    scenario.end("a", "cancelled", token=None)
    scenario.end("a", "completed", token="t1")


BROKEN: list[tuple[int, WriteScenario]] = [
    (1, lost), (1, created_although_refused), (1, half_a_batch), (2, phantom), (2, continuation_before_the_completion),
    (3, business_without_job), (4, completed_twice), (5, effect_twice), (5, effect_of_a_stale_attempt),
    (5, side_chain_missing), (6, stolen), (6, reaped_early), (6, run_twice), (7, stale_write),
    (2, created_twice), (6, without_a_lease), (7, settled_after_the_reap),
    (7, settled_as_something_else), (7, renewed_after_another_claim),
    (7, ended_under_another_token), (7, output_of_another), (8, attempt_skipped), (8, attempt_beyond_the_limit),
    (9, early), (10, late_reaper), (11, poison_never_fails), (12, missing_continuation), (13, never_unblocked),
    (13, started_before_its_blocker), (13, unblocked_in_another_transaction),
    (14, two_chains_with_one_key), (16, completed_after_cancel),
    *MAINTENANCE,
]  # fmt: skip
