"""Histories: the calls of each process and their results, one line of JSON each, one file per process.

A call is recorded before it is made and when it returns: `ok`, `fail` (it certainly did not happen) or `info`
(unknown). A process that is killed leaves calls without a result: those are `info` too. Times are those of the real
clock of the machine, without the skew that a run gives to some processes, so that all histories can be compared.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

Outcome = Literal["ok", "fail", "info"]


def real_now() -> int:
    """Microseconds since 1970, without the skew of this process."""
    return time.clock_gettime_ns(time.CLOCK_REALTIME) // 1000


class History:
    """Appends to the file of one process. Each line is one write, so that a killed process leaves whole lines."""

    def __init__(self, folder: Path, process: str) -> None:
        self.process = process
        self._file = os.open(folder / f"history-{process}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._calls = 0
        self._lock = threading.Lock()

    def now(self) -> int:
        """The time of this history's clock."""
        return real_now()

    def note(self, what: str, **facts: Any) -> None:
        """Record an event of this process."""
        self._write({"what": what, **facts})

    def invoke(self, op: str, **arguments: Any) -> int:
        """Record that a call begins; returns its number."""
        with self._lock:
            self._calls += 1
            number = self._calls
        self._write({"what": "invoke", "op": op, "call": number, "args": arguments})
        return number

    def answer(self, call: int, outcome: Outcome, **facts: Any) -> None:
        """Record the outcome of a call."""
        self._write({"what": outcome, "call": call, "facts": facts})

    def close(self) -> None:
        os.close(self._file)

    def _write(self, line: dict[str, Any]) -> None:
        os.write(self._file, (json.dumps({"at": real_now(), **line}, default=str) + "\n").encode())


class Call(msgspec.Struct):
    """One call of one process: its arguments, its times and its result."""

    process: str
    op: str
    args: dict[str, Any]
    begun: int
    outcome: Outcome = "info"
    ended: int | None = None
    facts: dict[str, Any] = {}


class Note(msgspec.Struct):
    """An event of a process."""

    process: str
    what: str
    at: int
    facts: dict[str, Any]


def read(folder: Path) -> tuple[list[Call], list[Note]]:
    """The histories of a run: calls ordered by their start, notes ordered by their time."""
    calls: list[Call] = []
    notes: list[Note] = []
    for path in sorted(folder.glob("history-*.jsonl")):
        process = path.stem.removeprefix("history-")
        open_calls: dict[int, Call] = {}
        for line in _lines(path):
            at, what = line.pop("at"), line.pop("what")
            match what:
                case "invoke":
                    call = Call(process, line["op"], line["args"], at)
                    open_calls[line["call"]] = call
                    calls.append(call)
                case "ok" | "fail" | "info":
                    call = open_calls.pop(line["call"])
                    call.outcome, call.ended, call.facts = what, at, line["facts"]
                case _:
                    notes.append(Note(process, what, at, line))
    return sorted(calls, key=lambda call: call.begun), sorted(notes, key=lambda note: note.at)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            # A line that a full disk truncated: the call stays without an outcome.
            continue
