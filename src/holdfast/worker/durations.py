"""Measures how long the attempts of each type occupy a slot of this worker."""

from __future__ import annotations

from collections.abc import Iterable
from time import monotonic
from typing import NamedTuple

from holdfast.worker.run_options import RunOptions

FAST = 0.01
"""Seconds. Jobs of a type are claimed ahead while its attempts do not take longer than this."""
ASSUMED = 0.05
"""Seconds that an attempt of an unmeasured type is assumed to take. A few short attempts lower the estimate."""
WEIGHT = 1 / 8
"""The weight of a measurement that is shorter than the estimate. A longer measurement replaces the estimate."""
FORGOTTEN_AFTER = 10.0
"""A type counts as unmeasured again this many seconds after its last attempt."""


class Estimate(NamedTuple):
    """The seconds that an attempt takes."""

    slot: float
    """Seconds for which the attempt occupies its slot."""
    handler: float
    """The same without the time in which the attempt waits for the store: while it reads and writes steps, and while
    its transactions begin and commit. So a slow store does not make a type slow."""


class Durations:
    """An estimate per type: a moving average. A longer attempt replaces it at once; shorter ones lower it slowly.

    Types with limits are not measured, because their jobs are not claimed ahead: a claimed job holds a permit even if
    its handler has not begun. Types with handlers in child processes are not measured either.
    """

    def __init__(self, options: Iterable[RunOptions]) -> None:
        self._types = {each.type.name for each in options if not each.type.limits and each.type.executor != "process"}
        self._measured: dict[str, _Measured] = {}

    def add(self, type: str, begun: float, ended: float, waited: float = 0.0) -> None:
        """Record an attempt: the monotonic times when it occupied its slot, and how long it waited for the store."""
        measured = self._measured.get(type)
        if measured is None:
            if type not in self._types:
                return
            measured = self._measured[type] = _Measured()
        seconds, slot = ended - begun, measured.slot
        # The formula of `_followed`, without the cost of a call: this code runs for every attempt.
        measured.slot = seconds if seconds > slot else slot + (seconds - slot) * WEIGHT
        measured.ended = ended
        if waited or measured.handler is not None:
            estimate = ASSUMED if measured.handler is None else measured.handler
            measured.handler = _followed(estimate, max(0.0, seconds - waited))

    def fast(self) -> dict[str, Estimate]:
        """The types whose jobs may be claimed ahead."""
        oldest = monotonic() - FORGOTTEN_AFTER
        fast: dict[str, Estimate] = {}
        for type, measured in list(self._measured.items()):
            handler = measured.slot if measured.handler is None else measured.handler
            if measured.ended < oldest:
                del self._measured[type]
            elif handler <= FAST:
                fast[type] = Estimate(measured.slot, handler)
        return fast


class _Measured:
    """The estimates of one type."""

    __slots__ = ("ended", "handler", "slot")

    def __init__(self) -> None:
        self.ended = 0.0
        """When the last attempt of the type ended."""
        self.slot = ASSUMED
        self.handler: float | None = None
        """None until an attempt of the type has waited for the store."""


def _followed(estimate: float, seconds: float) -> float:
    """The estimate after an attempt that took this time."""
    return seconds if seconds > estimate else estimate + (seconds - estimate) * WEIGHT
