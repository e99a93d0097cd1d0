"""How often the parts of a worker read the store although no wake-up has arrived."""

from __future__ import annotations

import os
from typing import NamedTuple

from holdfast.engine.wakeups import Wakeups


class Polling(NamedTuple):
    """The poll intervals of a worker, in seconds."""

    interval: float
    without_wakeups: float
    """The interval while wake-ups do not arrive."""

    def wait(self, wakeups: Wakeups) -> float:
        """Seconds until the next poll. It varies by 5 %, so that workers of a fleet do not poll at the same time."""
        # The module `random` is not used: an application may seed it with the same number in every process.
        wait = self.interval * (0.95 + 0.1 * os.urandom(1)[0] / 255)
        return wait if wakeups.healthy else min(wait, self.without_wakeups)
