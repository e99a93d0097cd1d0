"""The processes of a run: each in the environment of its contender, all killed at the end of the run."""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.contender import Contender, Place, Unsupported
from benchmarks.environments import interpreter
from benchmarks.ticks import VARIABLE, Ticks

ROOT = Path(__file__).parents[1]
START_SECONDS = 60.0
END_SECONDS = 150.0
_PR_SET_PDEATHSIG = 1


class Broken(Exception):
    """A contender did not do what it was asked; the reason goes into the report."""


class Child:
    """One process that writes lines of JSON. Its children are in its process group, and end with it."""

    def __init__(self, contender: type[Contender], role: str, place: Place, ticks: Ticks, **options: Any) -> None:
        command = [interpreter(contender), "-m", "benchmarks.child", role, contender.name, place.store, place.url]
        for name, value in options.items():
            if value is not None:
                command += [f"--{name}", str(value)]
        self._log = ticks.path.with_name(f"{role}-{time.monotonic_ns()}.log")
        environment = {**os.environ, "PYTHONPATH": str(ROOT), VARIABLE: str(ticks.path), "PYTHONWARNINGS": "ignore"}
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=ticks.path.parent, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=log, bufsize=0, start_new_session=True, preexec_fn=_end_with_parent,
            )  # fmt: skip

    def says(self, *, within: float) -> bool:
        """Whether there is something to read; waits for at most this many seconds."""
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            return bool(selector.select(within))

    def answer(self, seconds: float = END_SECONDS) -> dict[str, Any]:
        """The next line of its output. Raises Broken or Unsupported with its reason if there is none."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + seconds
        line = b""
        while not line.startswith(b"{"):
            if not self.says(within=max(0.0, deadline - time.monotonic())):
                raise Broken(f"no answer in {seconds:.0f} s{self._last_line()}")
            line = self.process.stdout.readline()
            if not line:
                raise Broken(f"ended without an answer{self._last_line()}")
        said: dict[str, Any] = json.loads(line)
        if reason := said.get("unsupported"):
            raise Unsupported(reason)
        if reason := said.get("error") or said.get("unfinished"):
            raise Broken(reason)
        return said

    def go(self) -> None:
        """Let it continue."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()

    def end(self) -> None:
        """Kill it and all processes that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _last_line(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return f": {lines[-1][:300]}" if lines else ""


class Run:
    """One run of one contender on fresh storage."""

    def __init__(self, contender: type[Contender], place: Place, ticks: Ticks) -> None:
        self.contender = contender
        self.place = place
        self.ticks = ticks

    def ask(self, role: str, **options: Any) -> dict[str, Any]:
        """Run one part of a contender in a process, and return its output."""
        with self.child(role, **options) as child:
            return child.answer()

    @contextmanager
    def child(self, role: str, **options: Any) -> Generator[Child]:
        """A process until the end of the block."""
        child = Child(self.contender, role, self.place, self.ticks, **options)
        try:
            yield child
        finally:
            child.end()

    @contextmanager
    def worker(self, slots: int | None) -> Generator[Child]:
        """A worker that is ready and waits for its `go`."""
        with self.child("work", slots=slots) as child:
            child.answer(START_SECONDS)
            yield child


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
