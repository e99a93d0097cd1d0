"""The growing delay before the next process of a group starts, while processes crash soon after their start."""

from __future__ import annotations

from holdfast.core.retry import Retry

STABLE = 10.0
"""A process that dies after this many seconds does not count as an early crash."""
CRASHING = Retry(initial=1, multiplier=2, maximum=60, jitter=0.1, max_attempts=None)


class CrashDelay:
    """Counts early crashes in a row, and how long to wait after the last one."""

    def __init__(self, retry: Retry | None = None) -> None:
        self.crashes = 0
        """Early crashes since a process last became stable."""
        self.not_before = 0.0
        """No process starts before this time."""
        self._retry = retry or CRASHING

    def crashed(self, now: float) -> float:
        """Count a crash. Returns the seconds until the next process may start."""
        self.crashes += 1
        delay = self._retry.delay(self.crashes)
        self.not_before = now + delay
        return delay

    def reset(self) -> None:
        """Start processes at once: the settings have changed."""
        self.crashes, self.not_before = 0, 0.0
