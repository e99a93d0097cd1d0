"""The job that holds back others in a rate of the memory store."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.core.clock import Micros


class RateHold(NamedTuple):
    """The track of a job that waits for its weight in a rate, and when the rate allows it."""

    track: str
    priority: int
    at: Micros
