"""The retry policy of a job type."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from holdfast.core import defaults

Seconds = float | timedelta


def seconds(value: Seconds) -> float:
    """A duration as seconds, from a number or a timedelta."""
    return value.total_seconds() if isinstance(value, timedelta) else float(value)


@dataclass(frozen=True, slots=True)
class Retry:
    """Exponential backoff: `min(initial * multiplier ** (attempt - 1), maximum)`, spread by plus or minus `jitter`.

    `max_attempts` counts every attempt, including the first one and crashes. None means no limit.
    """

    initial: Seconds = defaults.RETRY_INITIAL
    multiplier: float = defaults.RETRY_MULTIPLIER
    maximum: Seconds = defaults.RETRY_MAXIMUM
    jitter: float = defaults.RETRY_JITTER
    max_attempts: int | None = defaults.MAX_ATTEMPTS

    def __post_init__(self) -> None:
        self._check_types()
        # The comparisons are also False for NaN.
        if not 0 <= seconds(self.initial) < math.inf or not 0 <= seconds(self.maximum) < math.inf:
            raise ValueError("Retry: initial and maximum must be finite, and not negative")
        if not 1 <= self.multiplier < math.inf:
            raise ValueError("Retry: multiplier must be at least 1, and finite")
        if not 0 <= self.jitter <= 1:
            raise ValueError("Retry: jitter must lie between 0 and 1")
        if self.max_attempts is not None and not 1 <= self.max_attempts < 2**31:
            raise ValueError("Retry: max_attempts must be at least 1 and fit 32 bits, or None for no limit")

    def _check_types(self) -> None:
        durations: dict[str, object] = {"initial": self.initial, "maximum": self.maximum}
        numbers: dict[str, object] = {"multiplier": self.multiplier, "jitter": self.jitter}
        for name, value in durations.items():
            if isinstance(value, bool) or not isinstance(value, int | float | timedelta):
                raise TypeError(f"Retry: {name} must be seconds or a timedelta, not {type(value).__name__}")
        for name, value in numbers.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError(f"Retry: {name} must be a number, not {type(value).__name__}")
        counts: dict[str, object] = {"max_attempts": self.max_attempts}
        for name, value in counts.items():
            if isinstance(value, bool) or not isinstance(value, int | None):
                raise TypeError(f"Retry: {name} must be an int or None, not {type(value).__name__}")

    def delay(self, attempt: int, *, spread: Callable[[], float] = random.random) -> float:
        """Seconds to wait after the given attempt failed. `spread` yields numbers in [0, 1)."""
        initial, maximum = seconds(self.initial), seconds(self.maximum)
        try:
            backoff = min(initial * self.multiplier ** (attempt - 1), maximum)
        except OverflowError:
            backoff = maximum
        return backoff * (1 + self.jitter * (2 * spread() - 1))
