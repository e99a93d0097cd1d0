"""The producers and workers of a run, which the fork server starts."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from torture.fork_server import follow_parent
from torture.settings import Settings

ROOT = Path(__file__).parents[1]
TIMEOUT = 120.0


class Process:
    """A producer or worker."""

    def __init__(self, name: str, pid: int, ready: Path) -> None:
        self.name = name
        self.pid = pid
        self.code: int | None = None
        self.asked: int | None = None
        """When SIGTERM was sent, by the real clock."""
        self.frozen: float | None = None
        """The time at which a frozen process is continued."""
        self.noted = False
        self._ready = ready

    @property
    def alive(self) -> bool:
        return self.code is None

    @property
    def ready(self) -> bool:
        """Whether the process has installed its signal handlers: before that, a signal ends it."""
        return self._ready.exists()

    @property
    def is_stopped(self) -> bool:
        """Whether SIGSTOP has stopped the process."""
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        except (OSError, IndexError):
            return False

    def send(self, what: signal.Signals) -> None:
        if self.alive:
            with suppress(ProcessLookupError):
                os.kill(self.pid, what)


class Processes:
    """Starts processes through the fork server, and receives their exit codes."""

    def __init__(self, settings: Settings) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, "-m", "torture.fork_server", msgspec.json.encode(settings).decode()],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            preexec_fn=follow_parent,
        )
        self._by_pid: dict[int, Process] = {}
        self._early: dict[int, int] = {}
        self._lock = threading.Lock()
        self._started: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        if self._started.get(timeout=TIMEOUT) != 0:
            raise RuntimeError("the fork server of this run did not start: see its output above")

    def start(self, module: str, settings: Settings) -> Process:
        assert self._popen.stdin is not None
        self._popen.stdin.write(f"{module} {msgspec.json.encode(settings).decode()}\n".encode())
        self._popen.stdin.flush()
        pid = self._started.get(timeout=TIMEOUT)
        if pid is None:
            raise RuntimeError("the fork server died")
        process = Process(settings.name, pid, Path(settings.folder) / f"{settings.name}.ready")
        with self._lock:
            self._by_pid[pid] = process
            process.code = self._early.pop(pid, None)
        return process

    def name_of(self, pid: int | None) -> str | None:
        """The name of the process with this pid, if this object started it."""
        process = self._by_pid.get(pid) if pid is not None else None
        return None if process is None else process.name

    def living(self, kind: str) -> list[Process]:
        """The living processes whose names begin with `kind`."""
        with self._lock:
            return [process for process in self._by_pid.values() if process.alive and process.name.startswith(kind)]

    def close(self) -> None:
        """Kill the remaining processes and stop the fork server."""
        for process in list(self._by_pid.values()):
            process.send(signal.SIGKILL)
        deadline = time.monotonic() + TIMEOUT
        while any(process.alive for process in self._by_pid.values()) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert self._popen.stdin is not None
        self._popen.stdin.close()
        self._popen.wait(TIMEOUT)

    def _read(self) -> None:
        assert self._popen.stdout is not None
        for line in self._popen.stdout:
            match line.decode().split():
                case ["ready"]:
                    self._started.put(0)
                case ["started", _, pid]:
                    self._started.put(int(pid))
                case ["ended", pid, code]:
                    with self._lock:
                        process = self._by_pid.get(int(pid))
                        if process is None:
                            self._early[int(pid)] = int(code)
                        else:
                            process.code = int(code)
                case _:
                    continue
        self._started.put(None)
        self._popen.stdout.close()
        with self._lock:
            # The kernel kills the children of the fork server with it, and their exit codes are lost.
            for process in self._by_pid.values():
                process.code = -signal.SIGKILL if process.code is None else process.code
