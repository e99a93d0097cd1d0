"""A worker process continues after every exception of a handler. Only a real signal stops it."""

from __future__ import annotations

import signal

import pytest

from holdfast import ChainFailed, Status
from tests.event_process import TIMEOUT
from tests.process.fleet import Fleet
from tests.process.handlers import ERRORS, hold, interrupt, interrupt_in_child, interrupt_in_thread, note
from tests.process.harness import Harness
from tests.process.latch import Latch


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_only_a_real_signal_stops_a_worker(
    harness: Harness, fleet: Fleet, latch: Latch, number: signal.Signals
) -> None:
    worker = fleet.start(grace=0.2, lease=30)
    beside = harness.client.start(hold.bind(1, latch.path))
    worker.wait_for("started", job_id=beside.id)
    chains = [
        harness.client.start(job_type.bind(2, error))
        for job_type in (interrupt, interrupt_in_thread, interrupt_in_child)
        for error in ERRORS
    ]

    for chain in chains:
        with pytest.raises(ChainFailed):
            harness.client.wait(chain, timeout=TIMEOUT)
    # The store can be written: no handler left a transaction open.
    harness.client.wait(harness.client.start(note.bind(3)), timeout=TIMEOUT)
    worker.process.send_signal(number)
    assert worker.process.wait(TIMEOUT) == 0

    assert [number for number, _ in harness.ledger()] == [3]
    for chain in chains:
        report = harness.client.report(chain.id)
        assert report is not None
        assert [each.outcome for each in report.attempts] == ["failed", "failed"]
    released = harness.client.get_job(beside.id)
    assert released is not None
    assert (released.status, released.attempt) == (Status.PENDING, 0)
