"""A child process that prints its events as lines of JSON."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Generic, TypeVar

ROOT = Path(__file__).parents[1]
TIMEOUT = 120.0

E = TypeVar("E")


class EventProcess(Generic[E]):
    """A process whose events a test can wait for."""

    def __init__(self, module: str, *arguments: str) -> None:
        command = [sys.executable, "-m", module, *arguments]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        self.events: list[E] = []
        self._lines: queue.SimpleQueue[E | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def next_event(self, deadline: float, wanted: Any) -> E:
        """The next event. AssertionError if the process ends, or at the deadline."""
        try:
            event = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise AssertionError(f"no {wanted} within {TIMEOUT:g} s; there were {self.events}") from None
        if event is None:
            raise AssertionError(f"the process ended without {wanted}; there were {self.events}")
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
