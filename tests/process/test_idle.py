"""An idle worker uses almost no CPU, and begins at once when another process starts a job."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.event_process import TIMEOUT
from tests.process.fleet import Fleet, WorkerProcess
from tests.process.handlers import note
from tests.process.harness import Harness


def cpu_seconds(worker: WorkerProcess) -> float:
    fields = Path(f"/proc/{worker.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_an_idle_worker_uses_almost_no_cpu(harness: Harness, fleet: Fleet) -> None:
    worker = fleet.start(poll_interval=60)
    harness.client.wait(harness.client.start(note.bind(1)), timeout=TIMEOUT)

    # In the first seconds the worker may still finish the job, and each maintenance task runs for the first time.
    assert any(used_in_three_seconds(worker) <= 0.06 for _ in range(5))


def used_in_three_seconds(worker: WorkerProcess) -> float:
    before = cpu_seconds(worker)
    with pytest.raises(subprocess.TimeoutExpired):
        worker.process.wait(3)
    return cpu_seconds(worker) - before


def test_a_job_of_another_process_begins_long_before_the_next_poll(harness: Harness, fleet: Fleet) -> None:
    worker = fleet.start(poll_interval=60)
    waits: list[float] = []
    for number in range(20):
        begun = time.monotonic()
        chain = harness.client.start(note.bind(number))
        worker.wait_for("started", job_id=chain.id)
        waits.append(time.monotonic() - begun)

    # Most of the waits may be long on a busy machine. Without wake-ups every one is at least a poll interval.
    assert sorted(waits)[2] < 0.25, "wake-ups do not arrive: the poll interval is 60 s"
