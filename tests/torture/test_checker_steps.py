"""The checker of steps and messages, with evidence made for it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.torture.builders import Scenario
from torture.audit import Change, Row
from torture.checker import messages, steps
from torture.checker.verdict import Tally
from torture.evidence import Evidence, Facts
from torture.history import Call, Note

SECOND = 1_000_000


class Run:
    """Writes the notes of handlers and the calls of senders. Each takes a tenth of a second."""

    def __init__(self) -> None:
        self.now = 1_000 * SECOND
        self.notes: list[Note] = []
        self.changes: list[Change] = []
        self.calls: list[Call] = []
        self.ledger: list[tuple[str, str, str, str]] = []
        self.stored: list[tuple[str, str, str, str | None]] = []

    def note(self, what: str, token: str, **facts: Any) -> None:
        self.now += SECOND // 10
        self.notes.append(Note("w", what, self.now, {"job": "job", "chain": "job", "token": token, **facts}))

    def step(self, name: str, token: str, value: str | None = None, *, id: str = "id") -> None:
        """The step runs, or with a value of another attempt it does not."""
        if value is None:
            self.note("step ran", token, name=name, id=id)
        self.note("step value", token, name=name, id=id, value=value or token)

    def send(self, value: str, *, first: bool, outcome: Any = "ok") -> None:
        self.now += SECOND // 10
        args = {"chain": "job", "name": "go", "value": value}
        self.calls.append(Call("p", "send", args, self.now - 1, outcome, self.now, {"first": first}))

    def evidence(self) -> Evidence:
        row = Row(
            id="job", chain="job", index=0, type="stepwise", status="completed", attempt=1, token="b", worker=None,
            key=None, output=None, error_bytes=0, error=None, open_blockers=0, on_blocker_failure="wait",
            scheduled_at=0,
        )  # fmt: skip
        facts = Facts(
            store="sqlite", seed=1, profile="test", lease=1, reap=1, poll=1, rows=[row], step_ledger=self.ledger,
            steps=self.stored,
        )  # fmt: skip
        return Evidence(facts, self.changes, self.calls, self.notes)

    def steps(self) -> Tally:
        return steps.steps_hold(self.evidence())

    def messages(self) -> Tally:
        return messages.messages_hold(self.evidence())


@pytest.fixture
def run() -> Run:
    """Two attempts. The second one gets the results of the first."""
    run = Run()
    run.note("handler", "a")
    run.step("charge", "a")
    run.step("reserve", "a", id="other")
    run.note("handler", "b")
    run.step("charge", "b", "a")
    run.step("reserve", "b", "a", id="other")
    run.ledger = [("job", "reserve", "other", "a")]
    run.stored = [("job", "charge", "", "a"), ("job", "reserve", "", "a")]
    return run


def test_a_stored_result_that_a_later_attempt_gets_is_no_violation(run: Run) -> None:
    tally = run.steps()

    assert tally.violations == []
    assert tally.opportunities > 0
    assert tally.counts["results that a later attempt got"] == 2


def test_a_result_that_changes_is_a_violation(run: Run) -> None:
    run.note("step ran", "c", name="charge", id="id")
    run.note("step value", "c", name="charge", id="id", value="c")

    assert any("had the results ['a', 'c']" in each for each in run.steps().violations)


def test_a_step_that_runs_after_its_result_was_stored_is_a_violation(run: Run) -> None:
    run.note("handler", "c")
    run.note("step ran", "c", name="charge", id="id")

    assert any("began after its result was stored" in each for each in run.steps().violations)


def test_a_stale_attempt_may_run_a_step_that_was_stored_after_its_claim(run: Run) -> None:
    scenario = Scenario()  # earlier than all notes
    scenario.now -= SECOND
    scenario.job("job", type="stepwise")
    scenario.claim("job", token="c")
    run.changes = scenario.changes
    run.note("handler", "c")  # the worker was frozen
    run.note("step ran", "c", name="charge", id="id")

    assert run.steps().violations == []


@pytest.mark.parametrize(("retried", "from_step"), [(True, "charge"), (True, None), (False, "charge")])
def test_a_stale_attempt_may_run_a_step_whose_result_a_retry_has_removed(
    run: Run, *, retried: bool, from_step: str | None
) -> None:
    scenario = Scenario()
    scenario.now = run.now
    scenario.job("job", type="stepwise")
    scenario.claim("job", token="c")
    scenario.end("job", "cancelled")
    if retried:
        scenario.end("job", "pending")
    run.calls.append(Call("p", "retry", {"job": "job", "from_step": from_step}, scenario.now))
    run.changes = scenario.changes
    run.now = scenario.now
    run.note("handler", "c")  # the worker was frozen
    run.note("step ran", "c", name="charge", id="id")

    assert bool(run.steps().violations) != (retried and from_step is not None)


def test_a_step_that_a_stale_attempt_runs_late_is_no_violation(run: Run) -> None:
    run.note("step ran", "a", name="charge", id="id")

    assert run.steps().violations == []


@pytest.mark.parametrize("rows", [[], [("job", "reserve", "other", "a")] * 2, [("job", "reserve", "other", "b")]])
def test_the_writes_of_a_transactional_step_exist_once(run: Run, rows: list[tuple[str, str, str, str]]) -> None:
    run.ledger = rows

    assert run.steps().violations


def test_writes_without_a_checkpoint_are_a_violation(run: Run) -> None:
    run.ledger.append(("job", "ship", "third", "b"))

    assert any("None is stored" in each for each in run.steps().violations)


def test_a_sleep_that_ends_early_is_a_violation(run: Run) -> None:
    run.note("sleeping", "b", seconds=2.0)
    run.note("slept", "b")

    assert any("slept 1.90 s less" in each for each in run.steps().violations)


def test_a_cursor_continues_after_the_saved_position(run: Run) -> None:
    key = "0" * 32
    for item in (0, 1, 2, 3, 4):
        run.note("item", "a", item=item, id=key)
    run.note("item", "b", item=3, id=key)
    assert run.steps().violations == []

    run.note("handler", "c")
    run.note("item", "c", item=2, id=key)

    assert any("began with item 2, position 3 was saved" in each for each in run.steps().violations)


def test_a_stale_attempt_saves_no_position(run: Run) -> None:
    key = "1" * 32
    scenario = Scenario()
    scenario.now -= 2 * SECOND
    scenario.job("job", type="stepwise")
    scenario.claim("job", token="c")
    scenario.now += SECOND
    scenario.reap("job")
    scenario.claim("job", token="d")
    run.changes = scenario.changes
    run.note("handler", "d")
    run.note("handler", "c")  # the worker was frozen
    run.note("item", "d", item=0, id=key)
    run.note("item", "c", item=3, id=key)

    assert run.steps().violations == []


def test_one_value_is_the_first(run: Run) -> None:
    run.send("one", first=True)
    run.send("two", first=False)
    run.note("receiving", "a")
    run.note("received", "a", value="one")
    assert run.messages().violations == []

    run.send("three", first=True)

    assert any("2 values are the first one" in each for each in run.messages().violations)


@pytest.mark.parametrize("value", ["two", "nothing of the kind", None])
def test_another_value_than_the_first_is_a_violation(run: Run, value: str | None) -> None:
    run.send("one", first=True)
    run.send("two", first=False)
    run.note("receiving", "a")

    run.note("received", "a", value=value)

    assert run.messages().violations


def test_a_late_value_needs_an_earlier_one(run: Run) -> None:
    run.send("one", first=False)

    assert any("no other one was stored" in each for each in run.messages().violations)
