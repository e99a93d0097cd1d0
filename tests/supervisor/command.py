"""`holdfast supervise` as a process of its own, whose log can be waited for."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.supervisor.harness import APP, TIMEOUT, Harness, is_over

ROOT = Path(__file__).parents[2]


WORKERS: dict[str, float] = {
    "default_count": 1, "max_count": 3, "concurrency": 2, "scale_interval_ms": 100, "scale_down_seconds": 0.5,
    "lease_timeout_seconds": 30, "grace_seconds": TIMEOUT,
}  # fmt: skip


def written(harness: Harness, **workers: float) -> Path:
    """A configuration file for a supervisor on this store."""
    path = harness.folder / "holdfast.toml"
    lines = [f"{key} = {value}" for key, value in {**WORKERS, **workers}.items()]
    path.write_text("\n".join([f'store = "{harness.url}"', f'app = "{APP}"', "[workers]", *lines, ""]))
    return path


class SupervisorProcess:
    """A supervisor started from a shell, logging JSON."""

    def __init__(self, config: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "holdfast.cli", "supervise", "--config", str(config), "--log-json"],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[dict[str, Any]] = []
        self._changed: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, event: str, *, times: int = 1) -> None:
        """Wait for the next log lines of this event, this many of them."""
        for _ in range(times):
            self._wait_until(event, lambda line: line.get("event") == event)

    def wait_for_text(self, text: str) -> None:
        """Wait for a log line that says this."""
        self._wait_until(text, lambda line: text in str(line.get("message")))

    def _wait_until(self, wanted: str, found: Callable[[dict[str, Any]], bool]) -> None:
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                line = self._changed.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {wanted} within {TIMEOUT:g} s; there were {self.lines}") from None
            if line is None:
                raise AssertionError(f"the supervisor ended without {wanted}; there were {self.lines}")
            if found(line):
                return

    def count(self, event: str) -> int:
        return sum(line.get("event") == event for line in self.lines)

    @property
    def pids(self) -> set[int]:
        """Every worker process it ever started."""
        started = [line["detail"] for line in self.lines if line.get("event") == "process_started"]
        return {int(detail.rpartition(" ")[2]) for detail in started}

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        """Its exit code after SIGTERM."""
        self.signal(signal.SIGTERM)
        return self.process.wait(TIMEOUT)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(TIMEOUT)
        assert self.process.stderr is not None
        self.process.stderr.close()

    def _read(self) -> None:
        # Its workers write here too: the end of the file is the end of them all.
        assert self.process.stderr is not None
        for text in self.process.stderr:
            try:
                line = json.loads(text)
            except ValueError:
                line = {"message": text}
            self.lines.append(line)
            self._changed.put(line)
        self._changed.put(None)

    def wait_for_silence(self) -> None:
        """Wait until the supervisor and every process it started have ended."""
        self._reader.join(TIMEOUT)
        assert not self._reader.is_alive(), f"something of {self.pids} still runs"
        assert all(map(is_over, self.pids))
