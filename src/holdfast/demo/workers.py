"""Worker processes, as a shell would start them: `holdfast worker --app ... --store ...`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

CONCURRENCY = 6
LEASE = "2s"
"""Short, so that the jobs of the killed worker run again during the demo. The default is 30 s."""


class DemoWorker:
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
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, cwd=folder, env=own_environment(),
            )  # fmt: skip

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def died(self) -> bool:
        """Whether the process ended although it was not stopped."""
        return not self.killed and self._process.poll() is not None

    def kill(self) -> None:
        """Send SIGKILL: no handler runs, and nothing is cleaned up."""
        self.killed = True
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Send SIGTERM: running jobs end, then the process exits."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.kill()


def own_environment() -> dict[str, str]:
    """The environment without the settings of the user's own store."""
    return {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
