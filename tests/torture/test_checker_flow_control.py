"""The checker of limits, rates, orders, hooks and ticks, with evidence made for it."""

from __future__ import annotations

import pytest

from torture.audit import Change
from torture.checker import flow_control
from torture.checker.verdict import Tally
from torture.evidence import Evidence, Facts

SECOND = 1_000_000


class Audit:
    """Builds an audit, in order."""

    def __init__(self) -> None:
        self.changes: list[Change] = []

    def add(
        self, id: str, type: str, before: str | None, after: str | None, *, at: float = 0, **values: object
    ) -> None:
        change = {"seq": len(self.changes), "at": int(at * SECOND), "id": id, "chain": id, "index": 0, "type": type}
        self.changes.append(Change(**(change | {"before": before, "after": after} | values)))  # type: ignore[arg-type]

    def run(self, id: str, type: str, *, at: float, until: float, key: str | None = None, attempt: int = 1) -> None:
        """A job that is created, claimed and completed."""
        self.add(id, type, None, "pending", at=at, key=key)
        self.add(id, type, "pending", "running", at=at, key=key, attempt=attempt)
        self.add(id, type, "running", "completed", at=until, key=key, attempt=attempt)

    def evidence(self, ticks: int | None = None) -> Evidence:
        facts = Facts(store="sqlite", seed=1, profile="smoke", lease=1, reap=1, poll=1, ticks=ticks)
        return Evidence(facts, self.changes, [], [])


def test_more_jobs_than_the_limit_are_a_violation() -> None:
    audit = Audit()
    audit.run("one", "render", at=0, until=1)
    for id in ("two", "three"):
        audit.add(id, "render", None, "pending")
        audit.add(id, "render", "pending", "running")
    assert flow_control.limits_hold(audit.evidence()).violations == []

    audit.add("four", "render", None, "pending")
    audit.add("four", "render", "pending", "running")

    assert "3 run at once, 2 may" in flow_control.limits_hold(audit.evidence()).violations[0]


def test_each_key_has_its_own_limit() -> None:
    audit = Audit()
    for tenant in "ab":
        audit.add(tenant, "serve", "pending", "running", key=f"{tenant}|1")
    assert flow_control.limits_hold(audit.evidence()).violations == []

    audit.add("again", "serve", "pending", "running", key="a|2")

    assert len(flow_control.limits_hold(audit.evidence()).violations) == 1


def test_a_failure_needs_one_hook_in_its_transaction() -> None:
    def tally(*hooks: str) -> Tally:
        audit = Audit()
        audit.add("job", "fragile", "running", "failed", tx="1")
        for number, tx in enumerate(hooks):
            audit.add(f"hook {number}", "note_failure", None, "pending", tx=tx)
        return flow_control.hooks_once(audit.evidence())

    assert tally("1").violations == []
    for wrong in ((), ("2",), ("1", "1"), ("1", "2")):
        assert tally(*wrong).violations


def test_a_rate_is_not_exceeded() -> None:
    def tally(apart: float) -> Tally:
        audit = Audit()
        for number in range(60):
            audit.run(str(number), "meter", at=number * apart, until=number * apart)
        return flow_control.rates_and_order(audit.evidence())

    assert tally(0.05).violations == []
    assert tally(0.03).violations


@pytest.mark.parametrize(("claimed", "holds"), [(3.0, True), (1.5, False)])
def test_an_order_is_kept(claimed: float, holds: bool) -> None:
    audit = Audit()
    audit.add("first", "ordered", None, "pending", at=0, key="a|1")
    audit.add("second", "ordered", None, "pending", at=1, key="a|2")
    audit.add("first", "ordered", "pending", "running", at=1, key="a|1", attempt=1)
    if not holds:
        audit.add("second", "ordered", "pending", "running", at=claimed, key="a|2", attempt=1)
    audit.add("first", "ordered", "running", "failed", at=2, key="a|1", attempt=1)
    if holds:
        audit.add("second", "ordered", "pending", "running", at=claimed, key="a|2", attempt=1)

    tally = flow_control.rates_and_order(audit.evidence())

    assert (tally.opportunities, not tally.violations) == (1, holds)


def test_ticks_are_complete_and_counted() -> None:
    def tally(seconds: tuple[float, ...], ticks: int) -> Tally:
        audit = Audit()
        for each in seconds:
            tick = f"2026-01-01T00:00:{each:09.6f}Z"
            audit.add(f"schedule:beat:{tick}", "beat", None, "pending", at=each)
        return flow_control.ticks_once(audit.evidence(ticks))

    assert tally((0.25, 0.5, 0.75), 3).violations == []
    assert tally((0.25, 0.75), 2).violations
    assert tally((0.25, 0.5), 3).violations
    assert tally((0.25, 0.5, 0.5), 3).violations
