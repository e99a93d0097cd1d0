"""Starts worker processes, reads their events, and kills or suspends them."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TIMEOUT = 120.0


class WorkerProcess:
    """A worker process. A test can wait for its events."""

    def __init__(self, url: str, **options: Any) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.process.worker", url, json.dumps(options)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.events: list[dict[str, Any]] = []
        self._lines: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, kind: str, **wanted: Any) -> dict[str, Any]:
        """The next event of this kind, with these fields."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            event = self._next(deadline, f"{kind} {wanted}")
            if event["kind"] == kind and all(event[name] == value for name, value in wanted.items()):
                return event

    def wait_for_each(self, kind: str, job_ids: Collection[str]) -> None:
        """Wait until there was an event of this kind for each of these jobs, in any order."""
        deadline = time.monotonic() + TIMEOUT
        while missing := set(job_ids) - {event["job_id"] for event in self.events if event["kind"] == kind}:
            self._next(deadline, f"{kind} of {missing}")

    def _next(self, deadline: float, wanted: str) -> dict[str, Any]:
        try:
            event = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise AssertionError(f"no {wanted} within {TIMEOUT:g} s; there were {self.events}") from None
        if event is None:
            raise AssertionError(f"the worker ended without {wanted}; there were {self.events}")
        return event

    def kill(self) -> None:
        """Send SIGKILL."""
        self.process.kill()
        self.process.wait(TIMEOUT)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def terminate(self) -> int:
        """Send SIGTERM and return the exit code. All events have been read then."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(TIMEOUT)
        self._reader.join(TIMEOUT)
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.resume()
            self.kill()
        self._reader.join(TIMEOUT)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            event = json.loads(line)
            self.events.append(event)
            self._lines.put(event)
        self._lines.put(None)


class Fleet:
    """The workers of one test, on one store."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._workers: list[WorkerProcess] = []

    def start(self, **options: Any) -> WorkerProcess:
        """Start a worker and wait until it runs. Its lease is long: a busy machine may renew a short one too late."""
        worker = WorkerProcess(self.url, **{"lease": 60, "poll_interval": 0.5, "concurrency": 4} | options)
        self._workers.append(worker)
        worker.wait_for("worker_started")
        return worker

    def close(self) -> None:
        for worker in self._workers:
            worker.close()
