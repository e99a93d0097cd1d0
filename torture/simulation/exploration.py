"""Many simulations, one seed after the other, in several processes."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context

from torture.checker import Result, check
from torture.evidence import Evidence
from torture.simulation.simulation import Simulation


@dataclass(slots=True)
class Seen:
    """The sums and violations of several simulations."""

    simulations: int = 0
    calls: int = 0
    faults: int = 0
    crashes: int = 0
    changes: int = 0
    seconds: float = 0.0
    interleavings: set[int] = field(default_factory=set[int])
    """Hashes of the orders of changes, without ids and times: the different interleavings."""
    opportunities: Counter[int] = field(default_factory=Counter[int])
    broken: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Violated invariants, each with its seeds."""
    shown: dict[int, str] = field(default_factory=dict[int, str])

    def add(self, other: Seen) -> None:
        """Add the results of another process."""
        for count in ("simulations", "calls", "faults", "crashes", "changes", "seconds"):
            setattr(self, count, getattr(self, count) + getattr(other, count))
        self.interleavings |= other.interleavings
        self.opportunities += other.opportunities
        for number, seeds in other.broken.items():
            self.broken[number] = sorted([*self.broken[number], *seeds])
            self.shown.setdefault(number, other.shown[number])


def explore(
    seeds: Iterable[int], seconds: float, *, favoured: tuple[str, ...] = (), until: tuple[int, ...] = ()
) -> Seen:
    """Simulate one seed after the other, until the time is over or one of these invariants is violated."""
    seen = Seen()
    deadline = time.monotonic() + seconds
    for seed in seeds:
        if time.monotonic() >= deadline or any(number in seen.broken for number in until):
            break
        simulation = Simulation(seed, favoured=favoured)
        evidence = simulation.run()
        seen.simulations += 1
        seen.calls += sum(connection.calls for connection in simulation.connections)
        seen.faults += sum(connection.faults for connection in simulation.connections)
        seen.crashes += simulation.crashes
        seen.changes += len(evidence.changes)
        seen.seconds += (evidence.facts.ended - evidence.facts.begun) / 1e6
        seen.interleavings.add(_interleaving(evidence))
        for verdict in check(evidence):
            seen.opportunities[verdict.number] += verdict.opportunities
            if verdict.result is Result.VIOLATED:
                seen.broken[verdict.number].append(seed)
                seen.shown.setdefault(verdict.number, verdict.violations[0])
    return seen


def _interleaving(evidence: Evidence) -> int:
    """A hash of the order of all changes, with jobs numbered by their first change."""
    turns: dict[str, int] = {}
    return hash(
        tuple(
            (turns.setdefault(change.id, len(turns)), change.type, change.before, change.after, change.worker)
            for change in evidence.changes
        )
    )


def explore_at_once(
    seeds: range, seconds: float, *, processes: int, favoured: tuple[str, ...] = (), until: tuple[int, ...] = ()
) -> Seen:
    """Divide the seeds among several processes. They are forked, so a mutant in this process is in them too.

    BrokenProcessPool if one of the processes dies.
    """
    parts = [seeds[number::processes] for number in range(processes)]
    seen = Seen()
    with ProcessPoolExecutor(processes, mp_context=get_context("fork")) as pool:
        for part in pool.map(partial(explore, seconds=seconds, favoured=favoured, until=until), parts):
            seen.add(part)
    return seen
