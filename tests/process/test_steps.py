"""Processes are killed, or stopped and resumed, between any two operations of a handler with steps.

The suite tries a sample of the points. HOLDFAST_EVERY_POINT=1 tries all of them.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from holdfast import AlreadyCompleted, Chain, Status, SyncClient
from tests.event_process import ROOT, TIMEOUT
from tests.process.harness import HARNESSES, Ledger
from tests.process.step_victims import ROWS, TYPES, jobs

SAMPLE = 1 if os.environ.get("HOLDFAST_EVERY_POINT") else 17
NEVER = 10**6
EFFECTS = ["reserve", *(f"row {row}" for row in range(ROWS))]


def _start(url: str, folder: Path, action: str, places: list[tuple[int, int]]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.process.step_victims", url, str(folder), action, json.dumps(places)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def _run(url: str, folder: Path, action: str, places: list[tuple[int, int]]) -> list[int]:
    """The ids of the processes that ended, or were stopped, at these places."""
    with _start(url, folder, action, places) as process:
        assert process.stdout is not None
        return [int(line) for line in process.stdout]


# Not on SQLite: a stopped process that writes blocks all others.
@pytest.mark.parametrize(
    ("store", "action"), [*((store, "kill") for store in HARNESSES), ("postgres", "stop"), ("redis", "stop")]
)
def test_each_effect_exists_once_wherever_a_process_ends(store: str, action: str, tmp_path: Path) -> None:
    with HARNESSES[store](tmp_path) as harness, SyncClient(harness.url, jobs) as client:
        # Two handlers without an end, with the message and without: how many points are there?
        trial = [client.start(TYPES[number].bind(number)) for number in range(2)]
        for chain in trial:
            client.send(chain, "label", "A")
        _run(harness.url, tmp_path, "kill", [(0, NEVER), (1, NEVER)])
        passed = [int((tmp_path / f"{number}.passed").read_text()) for number in range(2)]

        points = range(1, max(passed) + 1, SAMPLE)
        places = [(2 + index, point) for index, point in enumerate([point for point in points for _ in range(2)])]
        chains = [*trial, *(client.start(TYPES[number].bind(number)) for number, _ in places)]
        for chain in chains[2::3]:  # the others are suspended until the rescuer runs
            client.send(chain, "label", "A")
        victims = _run(harness.url, tmp_path, action, places)
        with _start(harness.url, tmp_path, "kill", []) as rescuer:
            try:
                for chain in chains:
                    with suppress(AlreadyCompleted):
                        client.send(chain, "label", "A")
                for chain in chains:
                    client.wait(chain, timeout=TIMEOUT)
                _check(client, chains, tmp_path, harness.ledger() if store != "redis" else None)
                _resume(victims if action == "stop" else [])
            finally:
                rescuer.kill()
        ledger = harness.ledger() if store != "redis" else None
        _check(client, chains, tmp_path, ledger, resumed=action == "stop")


def _resume(victims: list[int]) -> None:
    """Resume stopped processes, and wait until they have ended."""
    for pid in victims:
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            os.kill(pid, signal.SIGCONT)
            assert select.select([descriptor], [], [], TIMEOUT)[0], "a resumed process did not end"
            os.close(descriptor)


def _check(
    client: SyncClient, chains: list[Chain[Any]], folder: Path, ledger: Ledger | None, *, resumed: bool = False
) -> None:
    for number, chain in enumerate(chains):
        found = client.get(chain)
        assert found is not None
        assert found.status is Status.COMPLETED
        steps = {step.name: step.result for step in client.steps(found.job) if not step.each}
        output = found.output
        assert output is not None
        assert output.payment == steps["charge"]
        assert (output.reserved, output.label) == (f"{number} reserve", "A")
        calls = (folder / f"{number}.calls").read_text().splitlines()
        # A plain step runs at least once before its result is stored, and never after. A resumed process may call it.
        assert calls[-1] == output.payment or (resumed and output.payment in calls)
    if ledger is not None:
        effects = Counter(ledger)
        assert effects == Counter((number, name) for number in range(len(chains)) for name in EFFECTS)
