"""Raw figures as JSON: several partial runs make a complete one."""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.machine import commit, load


@dataclass(slots=True)
class Entry:
    """All rounds of one contender in one scenario on one store."""

    store: str
    scenario: str
    contender: str
    scale: float = 1.0
    at: str = ""
    commit: str = ""
    """The measured commit."""
    load: float = 0.0
    """The load of the machine before the scenario."""
    rounds: list[dict[str, float]] = field(default_factory=list[dict[str, float]])
    trouble: str | None = None
    """Why there are no figures, or fewer than there should be."""


@dataclass(frozen=True, slots=True)
class Figure:
    """The median of the rounds, and half of their range relative to it."""

    value: float
    noise: float
    rounds: int


class Results:
    """Everything measured so far."""

    def __init__(self, file: Path | None = None) -> None:
        self.machine: dict[str, str] = {}
        self.facts: dict[str, str] = {}
        self.versions: dict[str, dict[str, str]] = {}
        self.entries: dict[tuple[str, str, str], Entry] = {}
        if file is not None and file.exists():
            self._read(json.loads(file.read_text()))

    def begin(self, store: str, scenario: str, contender: str, *, scale: float) -> Entry:
        """An entry without figures, in place of an older one."""
        entry = Entry(store, scenario, contender, scale, f"{datetime.now(UTC):%Y-%m-%d %H:%M}", commit(), load())
        self.entries[store, scenario, contender] = entry
        return entry

    def figure(self, store: str, metric: str, contender: str) -> Figure | None:
        """A contender's newest figure, if it has one. The scenario of an older one may have another name."""
        for entry in sorted(self.entries.values(), key=lambda entry: entry.at, reverse=True):
            if (entry.store, entry.contender) == (store, contender):
                values = [each[metric] for each in entry.rounds if metric in each]
                if values:
                    middle = statistics.median(values)
                    noise = (max(values) - min(values)) / 2 / middle if middle else 0.0
                    return Figure(middle, noise, len(values))
        return None

    def troubles(self) -> list[Entry]:
        """Entries with a note."""
        return [entry for entry in self.entries.values() if entry.trouble]

    def write(self, file: Path) -> None:
        document = {
            "machine": self.machine,
            "facts": self.facts,
            "versions": self.versions,
            "entries": [asdict(entry) for entry in self.entries.values()],
        }
        file.write_text(json.dumps(document, indent=1) + "\n")

    def _read(self, document: dict[str, Any]) -> None:
        self.machine = document["machine"]
        self.facts = document["facts"]
        self.versions = document["versions"]
        for given in document["entries"]:
            entry = Entry(**given)
            self.entries[entry.store, entry.scenario, entry.contender] = entry
