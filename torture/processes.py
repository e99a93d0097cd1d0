"""Processes that the zygote forks for us."""

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

from torture.settings import Settings
from torture.zygote import follow_parent

ROOT = Path(__file__).parents[1]
PATIENCE = 120.0


class Process:
    """A producer or worker."""

    def __init__(self, name: str, pid: int, ready: Path) -> None:
        self.name = name
        self.pid = pid
        self.code: int | None = None
        self.asked: int | None = None
        """When it was asked to stop, by the real clock."""
        self.frozen: float | None = None
        """Until when it is to stay frozen."""
        self.noted = False
        self._ready = ready

    @property
    def alive(self) -> bool:
        return self.code is None

    @property
    def ready(self) -> bool:
        """Whether it works already: before that, a signal just ends it."""
        return self._ready.exists()

    @property
    def is_stopped(self) -> bool:
        """Whether it is frozen, by us or by itself."""
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        except (OSError, IndexError):
            return False

    def send(self, what: signal.Signals) -> None:
        if self.alive:
            with suppress(ProcessLookupError):
                os.kill(self.pid, what)


class Processes:
    """Starts them and learns how they ended."""

    def __init__(self, settings: Settings) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, "-m", "torture.zygote", msgspec.json.encode(settings).decode()],
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
        if self._started.get(timeout=PATIENCE) != 0:
            raise RuntimeError("the processes of this run could not be started: see above")

    def start(self, module: str, settings: Settings) -> Process:
        assert self._popen.stdin is not None
        self._popen.stdin.write(f"{module} {msgspec.json.encode(settings).decode()}\n".encode())
        self._popen.stdin.flush()
        pid = self._started.get(timeout=PATIENCE)
        if pid is None:
            raise RuntimeError("the mother of all processes died")
        process = Process(settings.name, pid, Path(settings.folder) / f"{settings.name}.ready")
        with self._lock:
            self._by_pid[pid] = process
            process.code = self._early.pop(pid, None)
        return process

    def name_of(self, pid: int | None) -> str | None:
        """The name of one that was started here."""
        process = self._by_pid.get(pid) if pid is not None else None
        return None if process is None else process.name

    def living(self, kind: str) -> list[Process]:
        """Those whose names begin so."""
        with self._lock:
            return [process for process in self._by_pid.values() if process.alive and process.name.startswith(kind)]

    def close(self) -> None:
        """End whatever is left."""
        for process in list(self._by_pid.values()):
            process.send(signal.SIGKILL)
        deadline = time.monotonic() + PATIENCE
        while any(process.alive for process in self._by_pid.values()) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert self._popen.stdin is not None
        self._popen.stdin.close()
        self._popen.wait(PATIENCE)

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
            # Without their mother nobody lives on, nor is there anybody to tell how they ended.
            for process in self._by_pid.values():
                process.code = -signal.SIGKILL if process.code is None else process.code
