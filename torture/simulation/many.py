"""Many simulations, one seed after the other."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from torture.checker import Word, check
from torture.simulation.simulating import Simulation


@dataclass(slots=True)
class Seen:
    """What they came to, together."""

    simulations: int = 0
    calls: int = 0
    faults: int = 0
    crashes: int = 0
    changes: int = 0
    seconds: float = 0.0
    opportunities: Counter[int] = field(default_factory=Counter[int])
    broken: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Invariants with the seeds that broke them."""
    shown: dict[int, str] = field(default_factory=dict[int, str])


def explore(first: int, number: int, seconds: float, *, favoured: tuple[str, ...] = ()) -> Seen:
    """Simulate seed after seed, so many or for so long."""
    seen = Seen()
    until = time.monotonic() + seconds
    for seed in range(first, first + number):
        if time.monotonic() >= until:
            break
        simulation = Simulation(seed, favoured=favoured)
        evidence = simulation.run()
        seen.simulations += 1
        seen.calls += sum(connection.calls for connection in simulation.connections)
        seen.faults += sum(connection.faults for connection in simulation.connections)
        seen.crashes += simulation.crashes
        seen.changes += len(evidence.changes)
        seen.seconds += (evidence.facts.ended - evidence.facts.begun) / 1e6
        for verdict in check(evidence):
            seen.opportunities[verdict.number] += verdict.opportunities
            if verdict.word is Word.VIOLATED:
                seen.broken[verdict.number].append(seed)
                seen.shown.setdefault(verdict.number, verdict.violations[0])
    return seen
