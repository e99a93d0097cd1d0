"""Cycles among chains that wait for each other. Pure: no clock, no I/O.

A chain waits while its current job is blocked. It waits for the chains that this job names in `after`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from holdfast.core.lifecycle import NewJob
from holdfast.errors import DependencyCycle

MOST_CHAINS = 1000
"""Chains that a search visits besides the blockers of the job. A longer cycle is accepted; `doctor` reports it."""

WaitsFor = Callable[[str], Iterable[str]]
"""The chains that a chain waits for; none if its current job is not blocked."""


class Walk(NamedTuple):
    """The result of a search along blockers."""

    reached: list[str]
    """The visited chains. While none of them changes, the result stays valid."""
    cycle: DependencyCycle | None


def walk(chain_id: str, after: Sequence[str], waits_for: WaitsFor) -> Walk:
    """Follow the blockers of a job of this chain, nearest first, until they lead back to the chain."""
    if chain_id in after:
        return Walk([], DependencyCycle([chain_id]))
    waiting = dict.fromkeys(after, chain_id)
    """Each chain that was reached, with the chain that waits for it."""
    reached: list[str] = []
    queue = list(waiting)
    most = len(queue) + MOST_CHAINS
    for chain in queue:  # the list grows during the loop
        if len(reached) == most:
            break
        reached.append(chain)
        for blocker in waits_for(chain):
            if blocker == chain_id:
                return Walk(reached, DependencyCycle(_path(chain_id, chain, waiting)))
            if blocker not in waiting:
                waiting[blocker] = chain
                queue.append(blocker)
    return Walk(reached, None)


def cycles(waits: Mapping[str, Iterable[str]], most: int) -> list[list[str]]:
    """Up to `most` cycles without a common chain. Each chain waits for the next one, and the last for the first."""
    graph = {chain: set(blockers) for chain, blockers in waits.items()}
    found: list[list[str]] = []
    while len(found) < most:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            # The sorter lists each chain before those that wait for it, and the first one again at the end.
            cycle: list[str] = error.args[1][:0:-1]
            found.append(cycle)
            graph = {chain: blockers for chain, blockers in graph.items() if chain not in cycle}
        else:
            break
    return found


def check_batch(jobs: Sequence[NewJob]) -> None:
    """DependencyCycle if chains that are started together name each other, or themselves, as blockers.

    A store raises ChainNotFound for a job that names a later one of its batch; DependencyCycle is more precise.
    """
    waits = {job.id: job.after for job in jobs if job.after}
    if waits and (found := cycles(waits, 1)):
        raise DependencyCycle(found[0])


def _path(chain_id: str, last: str, waiting: Mapping[str, str]) -> list[str]:
    path: list[str] = []
    while last != chain_id:
        path.append(last)
        last = waiting[last]
    return [chain_id, *reversed(path)]
