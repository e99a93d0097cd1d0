"""A load: so many pieces of work, their kinds shared out by weight, in an order that the seed decides."""

from __future__ import annotations

import random
from collections.abc import Sequence

from holdfast.simulation.work_kinds import WorkKind


def load(kinds: Sequence[WorkKind], jobs: int, *, seed: int) -> list[WorkKind]:
    """The kind of each job, in order: for the same kinds, number and seed always the same.

    Each kind gets its share to within one job. ValueError if no kind has a weight.
    """
    total = sum(kind.weight for kind in kinds)
    if not total:
        raise ValueError("there is nothing to simulate: no work kind has a weight above 0")
    # Where shares are broken, the largest fractions get the jobs that are left; of equal ones, those named first.
    shares = [divmod(jobs * kind.weight, total) for kind in kinds]
    counts = [whole for whole, _ in shares]
    by_fraction = sorted(range(len(kinds)), key=lambda index: -shares[index][1])
    for index in by_fraction[: jobs - sum(counts)]:
        counts[index] += 1
    mixed = [kind for kind, count in zip(kinds, counts, strict=True) for _ in range(count)]
    random.Random(f"{seed}/order").shuffle(mixed)
    return mixed
