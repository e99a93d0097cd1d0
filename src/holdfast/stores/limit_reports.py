"""Builds the report of limits from what a store has read. It is the same for every store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from holdfast.core.clock import Micros
from holdfast.core.lanes import SEPARATOR, LaneKind
from holdfast.engine.operations import LaneReport, LimitReport
from holdfast.engine.operations.limits import HOLDERS_SHOWN


class LimitRow(NamedTuple):
    """A limit, rate or order, as a store keeps it."""

    name: str
    kind: LaneKind
    declared: int
    per: Micros = 0
    burst: int = 1
    override: int | None = None

    @property
    def number(self) -> int:
        """The number in force."""
        return self.declared if self.override is None else self.override


def shown_lanes(
    waiting: Mapping[str, int], running: Mapping[str, int], overrides: Mapping[str, int], number: int
) -> dict[str, list[str]]:
    """By name of the limit, its lanes with most waiting jobs, at most `number`."""
    by_name: dict[str, list[str]] = {}
    for lane in waiting.keys() | running.keys() | overrides.keys():
        by_name.setdefault(lane.partition(SEPARATOR)[0], []).append(lane)
    return {
        name: sorted(lanes, key=lambda lane: (-waiting.get(lane, 0), lane))[:number] for name, lanes in by_name.items()
    }


def reports(
    limits: Sequence[LimitRow],
    shown: Mapping[str, Sequence[str]],
    *,
    waiting: Mapping[str, int],
    running: Mapping[str, int],
    overrides: Mapping[str, int],
    holders: Mapping[str, Sequence[str]],
) -> list[LimitReport]:
    """The report, by name."""
    return [
        LimitReport(
            limit.name,
            limit.kind,
            limit.number,
            limit.declared,
            limit.override is not None,
            limit.per,
            limit.burst,
            tuple(
                LaneReport(
                    lane.partition(SEPARATOR)[2],
                    overrides.get(lane, limit.number),
                    lane in overrides,
                    running.get(lane, 0),
                    waiting.get(lane, 0),
                    tuple(holders.get(lane, ())[:HOLDERS_SHOWN]),
                )
                for lane in shown.get(limit.name, ())
            ),
        )
        for limit in sorted(limits)
    ]
