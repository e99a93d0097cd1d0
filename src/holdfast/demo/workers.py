"""Worker processes, as a shell would start them: `holdfast worker --app ... --store ...`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

CONCURRENCY = 6
LEASE = "2s"
"""Short, so that a dead worker's jobs are taken over while you watch. By default it is half a minute."""


class WorkerProcess:
    """One worker in a process of its own; its log goes to a file beside the store."""

    def __init__(self, name: str, store: str, folder: Path) -> None:
        self.name = name
        self.killed = False
        self.log = folder / f"{name}.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable, "-m", "holdfast.cli", "worker",
                    "--app", "holdfast.demo.jobs:jobs", "--store", store, "--worker-id", name,
                    "--concurrency", str(CONCURRENCY), "--lease", LEASE,
                ],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, cwd=folder, env=_surroundings(),
            )  # fmt: skip

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def died(self) -> bool:
        """Whether it ended without being told to."""
        return not self.killed and self._process.poll() is not None

    def kill(self) -> None:
        """SIGKILL: no handler runs, nothing is cleaned up, nobody is told."""
        self.killed = True
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """SIGTERM: it finishes what runs and goes."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.kill()


def _surroundings() -> dict[str, str]:
    """The environment, without what it says about the person's own store and workers."""
    return {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
