"""The reservation of a rate in the memory store."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.core.clock import Micros


class RateReservation(NamedTuple):
    """The track of a job that waits for its weight in a rate, and when the rate allows it."""

    track: str
    priority: int
    at: Micros
