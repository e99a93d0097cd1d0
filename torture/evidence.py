"""Evidence: the files that a run writes, so that the checker needs no store."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from torture import history
from torture.audit import Change, Row
from torture.history import Call, Note
from torture.live_workers import LiveWorkers
from torture.spans import Span, Spans

LONGEST_BEAT = 1_000_000
"""Microseconds between two beats of an event loop that is not blocked, also on a busy machine."""


class Facts(msgspec.Struct, kw_only=True):
    """The facts of a run other than its histories and its audit."""

    store: str
    seed: int
    profile: str
    mutant: str | None = None
    lease: float
    reap: float
    poll: float
    grace: float = 3.0
    """Seconds that a stopping worker gives to running handlers."""
    concurrency: int = 0
    """Jobs that a worker runs at once; 0 in older evidence, which did not contain it."""
    slack: float = 3.0
    """Seconds that a busy machine may add to any bound."""
    timely: bool = True
    """Whether exceeded time limits are violations. A short run on a busy machine only measures the times."""
    durability: str = ""
    """A mode of the store that may lose acknowledged writes: the losses are counted."""
    supervised: bool = False
    """Whether the run had a supervisor with processes."""
    interrupted: int = 0
    """Number of producers whose blocking calls are interrupted."""
    swept: dict[str, list[str]] = {}
    """Failpoints of the sweep that no process reached, by kind of process."""
    unharmed: list[str] = []
    """Kinds of fault that were planned and had no effect."""
    transactional: bool = True
    """The application's own rows share the store's transactions."""
    own_clock: bool = True
    """The store has its own clock, independent of the clocks of its clients."""
    begun: int = 0
    ended: int = 0
    """Start and end of the load, by the real clock."""
    quiet: bool = True
    """All due jobs were finished within the time limit after the load."""
    rows: list[Row] = []
    stats: dict[str, int] = {}
    counters: dict[str, dict[str, int]] | None = None
    """Per type, the totals of the store's counters; `repeated` are retried and rescheduled attempts together."""
    ticks: int | None = None
    """How many chains the schedule has started by its own count."""
    ledger: list[tuple[str, int, str]] = []
    """(job, attempt, token) of every completion transaction that committed."""
    step_ledger: list[tuple[str, str, str, str]] = []
    """(job, name, idempotency key, token) of every transactional step that committed."""
    steps: list[tuple[str, str, str, str | None]] = []
    """(job, name, each, result) of every completed step of the jobs that exist at the end."""
    business: list[str] = []
    """Ids of the chains whose business row committed."""
    neighbour: dict[str, Any] = {}
    leaks: dict[str, Any] = {}
    live: LiveWorkers = msgspec.field(default_factory=LiveWorkers)
    """The list of live workers around the end."""
    versions: dict[str, str] = {}


class Evidence:
    """One run's facts, changes, calls and notes."""

    def __init__(self, facts: Facts, changes: list[Change], calls: list[Call], notes: list[Note]) -> None:
        self.facts = facts
        self.changes = changes
        self.calls = calls
        self.notes = notes
        self._still: dict[str, Spans] = {}

    @cached_property
    def by_job(self) -> dict[str, list[Change]]:
        return _grouped(self.changes, "id")

    @cached_property
    def by_chain(self) -> dict[str, list[Change]]:
        return _grouped(self.changes, "chain")

    @cached_property
    def rows(self) -> dict[str, Row]:
        return {row.id: row for row in self.facts.rows}

    def called(self, *ops: str) -> list[Call]:
        return [call for call in self.calls if call.op in ops]

    def noted(self, *kinds: str) -> list[Note]:
        return [note for note in self.notes if note.what in kinds]

    @cached_property
    def outages(self) -> Spans:
        """When the store was unavailable or blocked, by the real clock."""
        faults = [
            (note.facts["begun"], note.facts.get("ends", note.at))
            for note in self.noted("fault")
            if note.facts.get("outage")
        ]
        # A frozen process that holds the write lock blocks all others. A process that runs and holds it is no excuse.
        blocked = [
            span
            for note in self.noted("held")
            for span in self._turning(note.facts["by"]).gaps(note.facts["begun"], note.facts["ends"])
        ]
        return Spans([*faults, *blocked])

    def away(self, begun: int, ended: int) -> int:
        """For how much of a span of time the store was unavailable, in microseconds."""
        return self.outages.within(begun, ended)

    def unattended(self, begun: int, ended: int) -> int:
        """The same, plus the time in which every worker was dead, frozen, blocked or stopping."""
        return self._unattended.within(begun, ended)

    @cached_property
    def excused(self) -> float:
        """The share of the load that counts for no time limit: store unavailable, or no worker able to work."""
        whole = self.facts.ended - self.facts.begun
        return self.unattended(self.facts.begun, self.facts.ended) / whole if whole > 0 else 0.0

    def still(self, process: str, begun: int, ended: int) -> int:
        """For how much of a span the store was unavailable, or the event loop of this process did not run."""
        if process not in self._still:
            self._still[process] = Spans([*self.outages.all, *_pauses(self._beats.get(process, []))])
        return self._still[process].within(begun, ended)

    def stood_still(self, process: str, begun: int, ended: int) -> bool:
        """Whether the process died, or its event loop did not run, in that time, according to its beats."""
        last = self.last_beat(process)
        return last is not None and (last < ended or self.still(process, begun, ended) > 0)

    def last_beat(self, process: str) -> int | None:
        """The time of the last beat of its event loop."""
        beats = self._beats.get(process)
        return beats[-1] if beats else None

    @cached_property
    def lives(self) -> dict[str, int]:
        """Microseconds between the first and the last beat of each process."""
        return {process: beats[-1] - beats[0] for process, beats in self._beats.items()}

    @cached_property
    def no_worker(self) -> Spans:
        """When no worker was able to work."""
        stopping = {note.process: note.at for note in self.noted("event") if note.facts["kind"] == "worker_stopping"}
        living: list[Span] = []
        for process, beats in self._beats.items():
            if process.startswith("worker"):
                until = stopping.get(process, beats[-1])
                living += [(begun, min(ended, until)) for begun, ended in self._turning(process).all]
        # Evidence without beats (from a test or a simulation) excuses nothing.
        return Spans(Spans(living).gaps(self.facts.begun, self.facts.ended) if living else [])

    def _turning(self, process: str) -> Spans:
        """When its event loop ran."""
        beats = self._beats.get(process, [])
        return Spans(Spans(_pauses(beats)).gaps(beats[0], beats[-1]) if beats else [])

    @cached_property
    def _unattended(self) -> Spans:
        return Spans([*self.outages.all, *self.no_worker.all])

    @cached_property
    def _beats(self) -> dict[str, list[int]]:
        beats: dict[str, list[int]] = defaultdict(list)
        for note in self.noted("beat"):
            beats[note.process].append(note.at)
        return dict(beats)


def _pauses(beats: list[int]) -> list[Span]:
    """Gaps between two beats that are too long."""
    return [(one, other) for one, other in pairwise(beats) if other - one > LONGEST_BEAT]


def save(folder: Path, facts: Facts, changes: list[Change]) -> None:
    (folder / "facts.json").write_bytes(msgspec.json.encode(facts))
    (folder / "audit.jsonl").write_bytes(b"\n".join(msgspec.json.encode(change) for change in changes))


def load(folder: Path) -> Evidence:
    facts = msgspec.json.decode((folder / "facts.json").read_bytes(), type=Facts)
    decoder = msgspec.json.Decoder(Change)
    changes = [decoder.decode(line) for line in (folder / "audit.jsonl").read_bytes().splitlines()]
    calls, notes = history.read(folder)
    return Evidence(facts, changes, calls, notes)


def _grouped(changes: list[Change], by: str) -> dict[str, list[Change]]:
    groups: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        groups[getattr(change, by)].append(change)
    return dict(groups)
