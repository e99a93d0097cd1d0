"""What handlers do, chosen by the seed: the mix of section 6 of the reliability notes."""

from __future__ import annotations

import random
from typing import Any

from holdfast import Bound
from torture.behaviour import HARSH, Behaviour, Plan
from torture.jobs import toil, work
from torture.settings import Settings

BEHAVIOURS: dict[Behaviour, int] = {
    "return": 670, "sleep": 150, "fail": 40, "fail forever": 10, "refuse": 10, "reschedule": 20, "progress": 20,
    "block": 12, "hog": 8, "kill": 4, "stop": 6, "interrupt": 10, "close": 10,
}  # fmt: skip


def plan(rng: random.Random, settings: Settings) -> Plan:
    behaviour: Behaviour = rng.choices(list(BEHAVIOURS), list(BEHAVIOURS.values()))[0]
    if behaviour in HARSH and not settings.harsh:
        behaviour = "return"
    lease = settings.lease
    seconds = {
        # Sometimes longer than the lease: the renewer extends it.
        "sleep": rng.choice((0.01, 0.05, 0.2, 0.5, 1.6 * lease)),
        "progress": 0.05,
        "reschedule": 0.2,
        "block": 1.4 * lease,
        "hog": 1.4 * lease,
    }.get(behaviour, 0.0)
    inside = rng.random() < 0.6
    return Plan(
        behaviour,
        seconds,
        times={"fail": rng.choice((1, 1, 2)), "sleep": 1000}.get(behaviour, 1),
        inside=inside,
        effect=inside and rng.random() < 0.4,
        atomic=inside and behaviour == "return" and rng.random() < 0.2,
    )


def slow(rng: random.Random, settings: Settings) -> Plan:
    """Sleeps for about one lease at each attempt: a worker that was frozen finds the job claimed by another worker."""
    return Plan("sleep", rng.uniform(0.5, 1.5) * settings.lease, times=1000, inside=rng.random() < 0.5)


def brisk(rng: random.Random) -> Plan:
    """Ends after at most 0.1 seconds."""
    return Plan("sleep" if rng.random() < 0.3 else "return", rng.choice((0.01, 0.05, 0.1)), inside=rng.random() < 0.5)


def step(rng: random.Random, settings: Settings) -> Bound[Any]:
    """A chain of one job, async or blocking, sometimes with another priority."""
    kind = toil if settings.threads and rng.random() < 0.1 else work
    bound = kind.bind(plan(rng, settings))
    return bound.options(priority=rng.choice((0, 0, 0, 5, -5)))


def instant(rng: random.Random) -> Plan:
    """For large batches: returns at once, in one of twenty cases from a transaction."""
    return Plan(inside=rng.random() < 0.05)
