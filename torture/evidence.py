"""Evidence: all that a run left behind, on disk, so that it can be judged without the store."""

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
from torture.spans import Span, Spans

LONGEST_BEAT = 1_000_000
"""Microseconds between two beats of a loop that turns, on a busy machine too."""


class Facts(msgspec.Struct, kw_only=True):
    """What is known of a run besides its histories and its audit."""

    store: str
    seed: int
    profile: str
    mutant: str | None = None
    lease: float
    reap: float
    poll: float
    grace: float = 3.0
    """Seconds that a worker which was asked to stop gives to what it runs."""
    concurrency: int = 0
    """Jobs that a worker runs at once; 0 in evidence from before it was written down."""
    slack: float = 3.0
    """Seconds that a busy machine may add to any bound."""
    timely: bool = True
    """Whether bounds of time are judged; a short run on a machine that does other things only measures them."""
    durability: str = ""
    """A mode of the store that does not keep all it acknowledged: its losses are counted."""
    supervised: bool = False
    """A supervisor and its processes took part."""
    interrupted: int = 0
    """Producers whose blocking calls were to be interrupted."""
    swept: dict[str, list[str]] = {}
    """Failpoints of the sweep that nobody met, by whose they are."""
    unharmed: list[str] = []
    """Kinds of fault that were planned and never happened."""
    transactional: bool = True
    """The application's own rows share the store's transactions."""
    own_clock: bool = True
    """The store has a clock that is not its clients'."""
    begun: int = 0
    ended: int = 0
    """Of the load, by the real clock."""
    quiet: bool = True
    """Everything came to rest before the bound for it."""
    rows: list[Row] = []
    stats: dict[str, int] = {}
    ledger: list[tuple[str, int, str]] = []
    """(job, attempt, token) of every completion transaction that committed."""
    business: list[str] = []
    """Ids of the chains whose business row committed."""
    neighbour: dict[str, Any] = {}
    leaks: dict[str, Any] = {}
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
        """When the store was away or held up, by the real clock, until it served again."""
        faults = [
            (note.facts["begun"], note.facts.get("ends", note.at))
            for note in self.noted("fault")
            if note.facts.get("outage")
        ]
        # Whoever holds a lock that all need, and stands still with it, holds up all; one that goes on is not excused.
        held_up = [
            span
            for note in self.noted("held")
            for span in self._turning(note.facts["by"]).gaps(note.facts["begun"], note.facts["ends"])
        ]
        return Spans([*faults, *held_up])

    def away(self, begun: int, ended: int) -> int:
        """How much of a span of time the store was away, in microseconds."""
        return self.outages.within(begun, ended)

    def unattended(self, begun: int, ended: int) -> int:
        """How much of it the store was away, or no worker was there to do anything: dead, frozen, blocked, stopping."""
        return self._unattended.within(begun, ended)

    @cached_property
    def excused(self) -> float:
        """Which part of the load's time counts for no bound: the store was away, or no worker was able."""
        whole = self.facts.ended - self.facts.begun
        return self.unattended(self.facts.begun, self.facts.ended) / whole if whole > 0 else 0.0

    def still(self, process: str, begun: int, ended: int) -> int:
        """How much of it the store was away, or this process's loop did not turn."""
        if process not in self._still:
            self._still[process] = Spans([*self.outages.all, *_pauses(self._beats.get(process, []))])
        return self._still[process].within(begun, ended)

    def stood_still(self, process: str, begun: int, ended: int) -> bool:
        """Whether it died or did not turn in that time, as far as anybody knows."""
        last = self.last_beat(process)
        return last is not None and (last < ended or self.still(process, begun, ended) > 0)

    def last_beat(self, process: str) -> int | None:
        """When its loop turned for the last time, as far as anybody knows."""
        beats = self._beats.get(process)
        return beats[-1] if beats else None

    @cached_property
    def lives(self) -> dict[str, int]:
        """For how many microseconds each process lived, as far as anybody knows."""
        return {process: beats[-1] - beats[0] for process, beats in self._beats.items()}

    @cached_property
    def nobody(self) -> Spans:
        """When no worker was able to work."""
        stopping = {note.process: note.at for note in self.noted("event") if note.facts["kind"] == "worker_stopping"}
        living: list[Span] = []
        for process, beats in self._beats.items():
            if process.startswith("worker"):
                until = stopping.get(process, beats[-1])
                living += [(begun, min(ended, until)) for begun, ended in self._turning(process).all]
        # Evidence without beats, made by hand or simulated: nobody knows, so nothing is excused.
        return Spans(Spans(living).gaps(self.facts.begun, self.facts.ended) if living else [])

    def _turning(self, process: str) -> Spans:
        """When its loop turned."""
        beats = self._beats.get(process, [])
        return Spans(Spans(_pauses(beats)).gaps(beats[0], beats[-1]) if beats else [])

    @cached_property
    def _unattended(self) -> Spans:
        return Spans([*self.outages.all, *self.nobody.all])

    @cached_property
    def _beats(self) -> dict[str, list[int]]:
        beats: dict[str, list[int]] = defaultdict(list)
        for note in self.noted("beat"):
            beats[note.process].append(note.at)
        return dict(beats)


def _pauses(beats: list[int]) -> list[Span]:
    """When a loop that beats did not turn for long."""
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
