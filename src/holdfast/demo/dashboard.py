"""The dashboard of the demo's store, in a process of its own: `holdfast dashboard --port 0`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from holdfast.demo.workers import own_environment


class DashboardProcess:
    """A dashboard on a free port of loopback. Its log goes to a file beside the store.

    It is read-only: a change by the viewer would falsify what the demo checks at its end.
    """

    def __init__(self, store: str, folder: Path) -> None:
        self.log = folder / "dashboard.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable, "-m", "holdfast.cli", "dashboard", "--port", "0", "--json", "--read-only",
                    "--app", "holdfast.demo.jobs:jobs", "--store", store,
                ],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, cwd=folder, env=own_environment(),
            )  # fmt: skip
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        self.url: str | None = json.loads(line)["url"] if line else None
        """Where it can be opened; None if it did not start."""

    def stop(self) -> None:
        """Send SIGTERM, and wait for the end of the process."""
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
