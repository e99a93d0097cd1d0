"""Scenarios with violations of keep times, payloads, shutdown, counts, and the state at the end of a run."""

from __future__ import annotations

from tests.torture.builders import Scenario, WriteScenario


def kept_too_long(scenario: Scenario) -> None:
    scenario.job("a", keep=1_000_000)
    scenario.claim("a")
    scenario.end("a")
    scenario.wait(60)


def pruned_early(scenario: Scenario) -> None:
    scenario.job("a", keep=60_000_000)
    scenario.claim("a")
    scenario.end("a")
    scenario.delete("a")


def pruned_unfinished(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.delete("a")


def changed_payload(scenario: Scenario) -> None:
    scenario.call("echo", "ok", {"value": "1"}, equal=False, got="1.0")


def held_after_exit(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.claim("a", worker="w")
    scenario.note("exit", worker="w", code=0, asked=scenario.now)


def claimed_long_after_the_stop_signal(scenario: Scenario) -> None:
    scenario.job("a")
    asked = scenario.now
    scenario.wait(10)
    scenario.claim("a", worker="w")
    scenario.end("a")
    scenario.note("exit", worker="w", code=0, asked=asked)


def claimed_after_the_stop_event(scenario: Scenario) -> None:
    scenario.job("a")
    asked = scenario.now
    scenario.note("event", kind="worker_stopping", job=None, attempt=None, detail="")
    scenario.claim("a", worker="w")
    scenario.end("a")
    scenario.note("exit", worker="w", code=0, asked=asked)


def calls_that_never_end(scenario: Scenario) -> None:
    scenario.note("left", running=1)


def starved(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.wait(600)
    scenario.claim("a")


def not_counted(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.wait(1)
    scenario.call("stats", "ok", {}, total=0)


def leaked(scenario: Scenario) -> None:
    scenario.facts.leaks = {"left: connections": 2}


def not_at_rest(scenario: Scenario) -> None:
    scenario.job("a")
    scenario.wait(5)


def waiting_for_each_other(scenario: Scenario) -> None:
    for one, other in (("a", "b"), ("b", "a")):
        scenario.job(one, type="mutual")
        scenario.claim(one)
        scenario.job(f"after-{other}", chain=one, index=1, type="parting", after="blocked")
        scenario.end(one)
    scenario.wait(5)


def neighbour_touched(scenario: Scenario) -> None:
    scenario.facts.neighbour = {"started": 2, "all": 2, "pending": 1, "ids": ["n1", "n2"]}


MAINTENANCE: list[tuple[int, WriteScenario]] = [
    (19, kept_too_long),
    (19, pruned_early),
    (19, pruned_unfinished),
    (20, changed_payload),
    (21, claimed_long_after_the_stop_signal),
    (21, claimed_after_the_stop_event),
    (21, held_after_exit),
    (23, starved),
    (29, not_counted),
    (30, calls_that_never_end),
    (30, leaked),
    (30, not_at_rest),
    (30, waiting_for_each_other),
    (32, neighbour_touched),
]
