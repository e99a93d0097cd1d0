"""A load: a number of jobs, divided among the kinds by weight, in an order given by the seed."""

from __future__ import annotations

import random
from collections.abc import Sequence

from holdfast.simulation.work_kinds import WorkKind


def load(kinds: Sequence[WorkKind], jobs: int, *, seed: int) -> list[WorkKind]:
    """The kind of each job, in order. It is the same for the same kinds, number and seed.

    Each kind gets its share to within one job. ValueError if no kind has a weight.
    """
    total = sum(kind.weight for kind in kinds)
    if not total:
        raise ValueError("there is nothing to simulate: no work kind has a weight above 0")
    # Remaining jobs go to the largest fractions; of equal fractions, to the kind that is named first.
    shares = [divmod(jobs * kind.weight, total) for kind in kinds]
    counts = [whole for whole, _ in shares]
    by_fraction = sorted(range(len(kinds)), key=lambda index: -shares[index][1])
    for index in by_fraction[: jobs - sum(counts)]:
        counts[index] += 1
    mixed = [kind for kind, count in zip(kinds, counts, strict=True) for _ in range(count)]
    random.Random(f"{seed}/order").shuffle(mixed)
    return mixed
