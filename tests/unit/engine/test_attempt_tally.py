"""The attempts of a process, counted by their events and sent to another process in parts."""

from __future__ import annotations

from holdfast.core.counters import BOUNDS
from holdfast.engine.attempt_tally import AttemptTally
from holdfast.engine.events import Event


def ended(kind: str, seconds: float | None = 0.2) -> Event:
    return Event(kind, type="ship", duration=seconds)


def test_parts_add_up_to_what_was_counted() -> None:
    whole, sent, received = AttemptTally(), AttemptTally(), AttemptTally()
    for kind in ("completed", "continued", "retrying", "failed", "released", "lost"):
        for tally in (whole, sent):
            tally.observe(ended(kind))
        for part in sent.take():
            received.add(part)

    assert received.types == whole.types
    assert sent.take() == []
    (ship,) = received.types.values()
    assert ship.outcomes == {"completed": 2, "retried": 1, "failed": 1, "released": 1, "lost": 1}
    assert ship.runs[BOUNDS.index(250_000)] == sum(ship.runs) == 4
    assert ship.run_total == 800_000


def test_events_that_end_no_attempt_do_not_count() -> None:
    tally = AttemptTally()
    for event in (ended("cancelled", None), ended("started"), ended("reaped"), Event("store_error", duration=1.0)):
        tally.observe(event)

    assert tally.types == {}
