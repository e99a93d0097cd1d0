"""Time spans: covered time and gaps, compared with a count of every moment."""

from __future__ import annotations

import random

from torture.spans import Spans


def test_the_covered_time_equals_a_count_of_every_moment() -> None:
    rng = random.Random(1)
    for _ in range(200):
        spans = [(begin, begin + rng.randint(0, 8)) for begin in rng.choices(range(40), k=rng.randint(0, 6))]
        begun = rng.randint(0, 40)
        ended = begun + rng.randint(0, 15)
        covered = {moment for begin, end in spans for moment in range(begin, end)} & set(range(begun, ended))

        known = Spans(spans)

        assert known.within(begun, ended) == len(covered)
        left = {moment for begin, end in known.gaps(begun, ended) for moment in range(begin, end)}
        assert left == set(range(begun, ended)) - covered


def test_an_empty_set_of_spans_covers_nothing() -> None:
    assert Spans().within(0, 10) == 0
    assert Spans().gaps(0, 10) == [(0, 10)]
