"""Evidence: all that a run left behind, on disk, so that it can be judged without the store."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from torture import history
from torture.audit import Change, Row
from torture.history import Call, Note


class Facts(msgspec.Struct, kw_only=True):
    """What is known of a run besides its histories and its audit."""

    store: str
    seed: int
    profile: str
    mutant: str | None = None
    lease: float
    reap: float
    poll: float
    slack: float = 3.0
    """Seconds that a busy machine may add to any bound."""
    timely: bool = True
    """Whether bounds of time are judged; a short run on a machine that does other things only measures them."""
    durability: str = ""
    """A mode of the store that does not keep all it acknowledged: its losses are counted."""
    supervised: bool = False
    """A supervisor and its processes took part."""
    swept: dict[str, list[str]] = {}
    """Failpoints of the sweep that nobody met, by whose they are."""
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
    def outages(self) -> list[tuple[int, int]]:
        """When the store was away or held up, by the real clock, until it served again."""
        return [
            (note.facts["begun"], note.facts.get("ends", note.at))
            for note in self.notes
            if note.what == "fault" and note.facts.get("outage")
        ]

    def away(self, begun: int, ended: int) -> int:
        """How much of a span of time the store was away, in microseconds; spans that overlap count once."""
        return overlap(self.outages, begun, ended)


def overlap(spans: list[tuple[int, int]], begun: int, ended: int) -> int:
    """How much of a span of time these others cover; where they overlap, once."""
    total, upto = 0, begun
    for start, end in sorted(spans):
        start, end = max(start, upto), min(end, ended)
        if end > start:
            total += end - start
            upto = end
    return total


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
