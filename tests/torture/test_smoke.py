"""The smoke profile on every store that processes can share: kills, freezes and network faults without a violation.

The three runs are parallel, because each mostly waits for leases to expire. Only the events are checked, not their
durations: on a slow machine the test takes longer and does not fail.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from signal import SIGTERM

import pytest

from torture.fork_server import follow_parent
from torture.processes import ROOT

SEED = 11
STORES = ("sqlite", "postgres", "redis")
HAPPENED = {1, 2, 4, 5, 6, 7, 8, 9, 12, 22, 27, 29, 30, 32}
"""Invariants that every run tests. For the others, such a short run may be vacuous."""
TIMEOUT = 280
"""Seconds: a minute of load, and a multiple of the time that the rest takes on a machine with two cores."""

Run = tuple[subprocess.Popen[bytes], Path]


@pytest.fixture
def runs(tmp_path: Path) -> Generator[dict[str, Run]]:
    """One run per store, all in parallel; the test stops those that are left."""
    running = {store: (_start(store, tmp_path), tmp_path / store) for store in STORES}
    yield running
    for process, _ in running.values():
        process.terminate()
    for process, _ in running.values():
        process.wait()


# One test for all stores: with two tests, two workers of the test runner would both start all runs.
def test_no_invariant_is_violated_on_any_store(runs: dict[str, Run]) -> None:
    until = time.monotonic() + TIMEOUT
    for process, _ in runs.values():
        process.wait(until - time.monotonic())

    for process, place in runs.values():
        reported = place.with_suffix(".txt").read_text()
        assert process.returncode == 0, reported
        verdicts = json.loads(place.with_suffix(".json").read_text())["verdicts"]
        results = {verdict["number"]: verdict["word"] for verdict in verdicts}  # wording: a key of the reports
        assert [number for number, result in results.items() if result == "VIOLATED"] == [], reported
        assert {number for number, result in results.items() if result == "OK"} >= HAPPENED, reported


def _start(store: str, folder: Path) -> subprocess.Popen[bytes]:
    report, reported = folder / f"{store}.json", folder / f"{store}.txt"
    arguments = ["--store", store, "--profile", "smoke", "--seed", str(SEED), "--report", str(report)]
    arguments += ["--allow-vacuous"]  # HAPPENED lists what must be tested
    with reported.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "torture", *arguments],
            cwd=ROOT,
            stdout=output,
            stderr=subprocess.STDOUT,
            # It gets this signal when the test process ends, and then stops its servers and disks.
            preexec_fn=lambda: follow_parent(SIGTERM),
        )
