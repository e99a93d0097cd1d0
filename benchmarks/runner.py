"""Runs scenarios: fresh storage for each run, every contender in every round, in alternating order."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.contender import Contender, Unsupported
from benchmarks.contenders import contenders, peers
from benchmarks.environments import trouble, versions
from benchmarks.machine import machine
from benchmarks.ours import Ours
from benchmarks.processes import Broken, Run
from benchmarks.results import Results
from benchmarks.scenarios import SCENARIOS
from benchmarks.scenarios.scenario import Scenario
from benchmarks.storage import STORES
from benchmarks.storage.memory import memory_storage
from benchmarks.storage.storage import Storage
from benchmarks.ticks import Ticks

LIBRARY = "library"
"""Instead of a store: the cost of a library before it is used."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which stores, scenarios and contenders to run."""

    stores: Collection[str] = (*STORES, LIBRARY)
    scenarios: Collection[str] = ()
    """Prefixes of scenarios; empty means all."""
    peers: Collection[str] | None = None
    """Names; None selects all contenders, an empty set none."""
    rounds: int = 3
    scale: float = 1.0

    def takes(self, scenario: Scenario) -> bool:
        wanted = {each.replace("-", "_") for each in self.scenarios}
        return not wanted or any(scenario.idea.startswith(each) for each in wanted)

    def has(self, contender: type[Contender]) -> bool:
        return not contender.requirements or self.peers is None or contender.name in self.peers


def run(
    choice: Choice, results: Results, emit: Callable[[str], None], *, keep: Callable[[], None] = lambda: None
) -> None:
    """Measure what was chosen. A contender that fails is reported with its reason, and does not stop the others.

    `keep` is called after each scenario, so that an interrupted run keeps its figures.
    """
    results.machine = machine()
    for store in choice.stores:
        opened = memory_storage() if store == LIBRARY else STORES[store]()
        candidates: list[type[Contender]] = [Ours, *peers()] if store == LIBRARY else contenders(store)
        with opened as storage:
            results.facts |= storage.facts
            for scenario in filter(choice.takes, SCENARIOS):
                wanted = [each for each in candidates if choice.has(each) and scenario.fits(each, store)]
                if wanted:
                    _scenario(scenario, store, storage, wanted, choice, results, emit)
                    keep()


def _scenario(
    scenario: Scenario,
    store: str,
    storage: Storage,
    wanted: list[type[Contender]],
    choice: Choice,
    results: Results,
    emit: Callable[[str], None],
) -> None:
    entries = {each: results.begin(store, scenario.name, each.name, scale=choice.scale) for each in wanted}
    for contender, entry in entries.items():
        entry.trouble = trouble(contender)
        if entry.trouble is not None:
            emit(f"{store} {scenario.name}: {contender.name}: {entry.trouble}")
        else:
            results.versions[contender.name] = versions(contender)
    for number in range(choice.rounds):
        for contender in reversed(wanted) if number % 2 else wanted:
            entry = entries[contender]
            if entry.trouble is not None:
                continue
            begun = time.monotonic()
            try:
                figures = measure(scenario, contender, storage, choice.scale)
            except (Broken, Unsupported) as reason:
                entry.trouble = str(reason)
                emit(f"{store} {scenario.name}: {contender.name}: {reason}")
            else:
                entry.rounds.append(figures)
                shown = ", ".join(f"{name} {value:,.4g}" for name, value in figures.items())
                emit(f"{store} {scenario.name}: {contender.name}: {shown} ({time.monotonic() - begun:.1f} s)")


def measure(scenario: Scenario, contender: type[Contender], storage: Storage, scale: float) -> dict[str, float]:
    """One run on fresh storage."""
    with storage.fresh() as place, TemporaryDirectory(prefix="holdfast-ticks-") as folder:
        ticks = Ticks(Path(folder) / "ticks")
        ticks.create()
        return scenario.measure(Run(contender, place, ticks), scale)
