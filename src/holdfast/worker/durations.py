"""How long attempts of each type occupy a slot, as this worker measures them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from holdfast.worker.held_claims import lease_clock
from holdfast.worker.run_options import RunOptions

FAST = 0.01
"""Seconds. Jobs of a type are claimed ahead while its attempts do not take longer than this."""
ASSUMED = 0.05
"""Seconds that an attempt of an unmeasured type is assumed to take. Some short attempts lower the estimate."""
WEIGHT = 1 / 8
"""The weight of a measurement that is shorter than the estimate. A longer one replaces the estimate."""
FORGOTTEN_AFTER = 10.0
"""Seconds after the last attempt of a type. The type counts as unmeasured then."""


class Estimate(NamedTuple):
    """The seconds that an attempt takes."""

    slot: float
    """It occupies its slot for this time."""
    handler: float
    """The same without the time in which its steps are read and written. A slow store makes no handler slow."""


class Durations:
    """An estimate per type: a moving average that follows a longer attempt at once, and shorter ones slowly.

    Types with limits are not measured: a running row holds a permit, so none of their jobs is claimed ahead. The same
    applies to handlers in child processes.
    """

    def __init__(self, options: Iterable[RunOptions]) -> None:
        self._types = {each.type.name for each in options if not each.type.limits and each.type.executor != "process"}
        self._slots: dict[str, float] = {}
        self._handlers: dict[str, float] = {}
        """Only of types that use steps."""
        self._times: dict[str, float] = {}

    def add(self, type: str, begun: float, ended: float, waited: float = 0.0) -> None:
        """An attempt occupied its slot between these times of the lease clock, and waited for its steps meanwhile."""
        if type in self._types:
            seconds = ended - begun
            self._slots[type] = _followed(self._slots.get(type, ASSUMED), seconds)
            self._times[type] = ended
            if waited or type in self._handlers:
                self._handlers[type] = _followed(self._handlers.get(type, ASSUMED), max(0.0, seconds - waited))

    def fast(self) -> dict[str, Estimate]:
        """The types whose jobs may be claimed ahead."""
        oldest = lease_clock() - FORGOTTEN_AFTER
        for type in [type for type, time in self._times.items() if time < oldest]:
            del self._times[type], self._slots[type]
            self._handlers.pop(type, None)
        estimates = {type: Estimate(slot, self._handlers.get(type, slot)) for type, slot in self._slots.items()}
        return {type: estimate for type, estimate in estimates.items() if estimate.handler <= FAST}


def _followed(estimate: float, seconds: float) -> float:
    """The estimate after an attempt that took this time."""
    return seconds if seconds > estimate else estimate + (seconds - estimate) * WEIGHT
