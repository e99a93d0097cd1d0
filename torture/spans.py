"""A set of time spans with fast lookup: a long run has thousands of outages, and every claim is compared to them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate

Span = tuple[int, int]


class Spans:
    """Time spans in microseconds; overlapping spans are merged."""

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        merged: list[Span] = []
        for begun, ended in sorted(span for span in spans if span[0] < span[1]):
            if merged and begun <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(ended, merged[-1][1]))
            else:
                merged.append((begun, ended))
        self.all = merged
        self._begins = [begun for begun, _ in merged]
        self._ends = [ended for _, ended in merged]
        self._before = [0, *accumulate(ended - begun for begun, ended in merged)]

    def within(self, begun: int, ended: int) -> int:
        """How much of a span is covered."""
        first, last = bisect_right(self._ends, begun), bisect_left(self._begins, ended)
        if first >= last:
            return 0
        total = self._before[last] - self._before[first]
        return total - max(0, begun - self._begins[first]) - max(0, self._ends[last - 1] - ended)

    def gaps(self, begun: int, ended: int) -> list[Span]:
        """The parts of a span that are not covered."""
        edges = [begun, *(edge for span in self.all for edge in span), ended]
        clipped = [min(max(edge, begun), ended) for edge in edges]
        return [(start, end) for start, end in zip(clipped[::2], clipped[1::2], strict=True) if start < end]
