"""The faults: each ends the primary in one way, and returns how long the producers waited."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise

from ha.cluster import Cluster
from ha.load import WAYS, Load
from ha.processes import wait_for

CALM_STARTS = 200
"""Acknowledged starts of each producer before a fault, and after it."""


@dataclass(frozen=True, slots=True)
class Outage:
    fault: str
    seconds: dict[str, float]
    """The longest time between two acknowledged starts of the producer of each way."""


def kill_primary(cluster: Cluster, load: Load, *, lag: float = 0.0) -> Outage:
    """Kill all processes of the primary's node with SIGKILL, wait for the next primary, and start the node again.

    With a `lag`, the standbys stop receiving that many seconds before. At most four: then PostgreSQL receives again.
    """
    begun = _calm(load)
    before = cluster.primary()
    assert before is not None
    if lag:
        for node in cluster.nodes:
            if node is not before:
                node.cut_replication()
        time.sleep(lag)
    before.kill()
    wait_for(lambda: (now := cluster.primary()) is not None and now is not before, "the failover")
    outage = _after("kill -9 of the primary", load, begun)
    before.start()
    return outage


def switch_over(cluster: Cluster, load: Load) -> Outage:
    """Change the primary in an orderly way."""
    begun = _calm(load)
    cluster.switch_over()
    return _after("switchover", load, begun)


def _calm(load: Load) -> float:
    """Wait until each producer has made enough starts. Returns the time from which gaps count."""
    _more_starts(load)
    return time.monotonic()


def _after(fault: str, load: Load, begun: float) -> Outage:
    _more_starts(load)
    return Outage(fault, {way: _longest_gap(load, way, begun) for way in WAYS})


def _more_starts(load: Load) -> None:
    goal = {way: len(load.acknowledged(way)) + CALM_STARTS for way in WAYS}
    wait_for(lambda: all(len(load.acknowledged(way)) >= goal[way] for way in WAYS), "starts", 120)


def _longest_gap(load: Load, way: str, begun: float) -> float:
    times = [begun, *(each.at for each in load.acknowledged(way) if each.at > begun)]
    return max(later - earlier for earlier, later in pairwise(times))
