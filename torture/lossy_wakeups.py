"""Wake-ups over an unreliable connection: some are lost, some arrive three times."""

from __future__ import annotations

import random
from collections.abc import Callable

from holdfast.engine.wakeups import Hints, Listener, Wakeups


class LossyWakeups:
    """Drops a share of the wake-ups of another object, and repeats a share of them twice."""

    def __init__(self, inner: Wakeups, *, drop: float, double: float, seed: int) -> None:
        self._inner = inner
        self._drop = drop
        self._double = double
        self._random = random.Random(seed)
        self.dropped = 0
        self.doubled = 0

    @property
    def healthy(self) -> bool:
        return self._inner.healthy

    def send(self, hints: Hints) -> None:
        self._inner.send(hints)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        return self._inner.subscribe(lambda hints: self._pass(listener, hints))

    def _pass(self, listener: Listener, hints: Hints) -> None:
        drawn = self._random.random()
        if drawn < self._drop:
            self.dropped += 1
            return
        listener(hints)
        if drawn > 1 - self._double:
            self.doubled += 1
            listener(hints)
            listener(hints)
