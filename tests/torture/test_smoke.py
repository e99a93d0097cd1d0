"""The smoke profile on every store that processes can share: crashes, freezes and cuts, and nothing broken.

All three run at once, since each mostly waits for leases to run out. What is judged is what happened, never how long
it took: a slow machine makes the test longer, not redder.
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

from torture.processes import ROOT
from torture.zygote import follow_parent

SEED = 11
STORES = ("sqlite", "postgres", "redis")
HAPPENED = {1, 2, 4, 5, 6, 7, 8, 9, 12, 22, 27, 29, 30, 32}
"""Invariants that could have been broken in every run: the others may have had no occasion in so short a time."""
PATIENCE = 280
"""Seconds: a minute of load, and many times what everything else takes on a machine with two cores."""

Run = tuple[subprocess.Popen[bytes], Path]


@pytest.fixture
def runs(tmp_path: Path) -> Generator[dict[str, Run]]:
    """A run per store, all begun at once; what is left of them ends with the test."""
    running = {store: (_start(store, tmp_path), tmp_path / store) for store in STORES}
    yield running
    for process, _ in running.values():
        process.terminate()
    for process, _ in running.values():
        process.wait()


# One test for all of them: two would be handed to two workers of the test runner, and each begin all the runs.
def test_no_invariant_is_broken_on_any_store(runs: dict[str, Run]) -> None:
    until = time.monotonic() + PATIENCE
    for process, _ in runs.values():
        process.wait(until - time.monotonic())

    for process, place in runs.values():
        reported = place.with_suffix(".txt").read_text()
        assert process.returncode == 0, reported
        verdicts = json.loads(place.with_suffix(".json").read_text())["verdicts"]
        words = {verdict["number"]: verdict["word"] for verdict in verdicts}
        assert [number for number, word in words.items() if word == "VIOLATED"] == [], reported
        assert {number for number, word in words.items() if word == "OK"} >= HAPPENED, reported


def _start(store: str, folder: Path) -> subprocess.Popen[bytes]:
    report, reported = folder / f"{store}.json", folder / f"{store}.txt"
    arguments = ["--store", store, "--profile", "smoke", "--seed", str(SEED), "--report", str(report)]
    arguments += ["--allow-vacuous"]  # what has to have happened is named above
    with reported.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "torture", *arguments],
            cwd=ROOT,
            stdout=output,
            stderr=subprocess.STDOUT,
            # Told so when the tests end in whatever way, it takes its servers and disks with it.
            preexec_fn=lambda: follow_parent(SIGTERM),
        )
