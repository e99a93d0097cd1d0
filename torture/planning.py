"""What handlers will do, drawn by the seed: the mix of section 6 of the reliability notes."""

from __future__ import annotations

import random
from typing import Any

from holdfast import Bound
from torture.jobs import HARSH, Deed, Plan, toil, work
from torture.settings import Settings

DEEDS: dict[Deed, int] = {
    "return": 670, "sleep": 150, "fail": 40, "fail for ever": 10, "refuse": 10, "reschedule": 20, "progress": 20,
    "block": 12, "hog": 8, "kill": 4, "stop": 6, "interrupt": 10, "close": 10,
}  # fmt: skip


def plan(rng: random.Random, settings: Settings) -> Plan:
    deed: Deed = rng.choices(list(DEEDS), list(DEEDS.values()))[0]
    if deed in HARSH and not settings.harsh:
        deed = "return"
    lease = settings.lease
    seconds = {
        # Now and then longer than the lease, which is renewed meanwhile; a loop that is blocked as long is not fenced.
        "sleep": rng.choice((0.01, 0.05, 0.2, 0.5, 1.6 * lease)),
        "progress": 0.05,
        "reschedule": 0.2,
        "block": 1.4 * lease,
        "hog": 1.4 * lease,
    }.get(deed, 0.0)
    inside = rng.random() < 0.6
    return Plan(
        deed,
        seconds,
        times={"fail": rng.choice((1, 1, 2)), "sleep": 1000}.get(deed, 1),
        inside=inside,
        effect=inside and rng.random() < 0.4,
        atomic=inside and deed == "return" and rng.random() < 0.2,
    )


def slow(rng: random.Random, settings: Settings) -> Plan:
    """Something that takes as long as a lease, every time: whoever thaws finds it running under another's claim."""
    return Plan("sleep", rng.uniform(0.5, 1.5) * settings.lease, times=1000, inside=rng.random() < 0.5)


def brisk(rng: random.Random) -> Plan:
    """Something that ends soon."""
    return Plan("sleep" if rng.random() < 0.3 else "return", rng.choice((0.01, 0.05, 0.1)), inside=rng.random() < 0.5)


def step(rng: random.Random, settings: Settings) -> Bound[Any]:
    """A chain of one step, on the loop or in a thread, now and then before others."""
    kind = toil if settings.threads and rng.random() < 0.1 else work
    bound = kind.bind(plan(rng, settings))
    return bound.options(priority=rng.choice((0, 0, 0, 5, -5)))


def instant(rng: random.Random) -> Plan:
    """One of very many: over at once, and one in twenty in a transaction."""
    return Plan(inside=rng.random() < 0.05)
