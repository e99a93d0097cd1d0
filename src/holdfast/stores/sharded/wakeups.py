"""The wake-ups of all shards as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.engine.store import Store
from holdfast.engine.wakeups import Hints, Listener


class ShardedWakeups:
    """Receives the hints of every shard. The hints do not name their shard: no id is on two."""

    def __init__(self, shards: Sequence[Store]) -> None:
        self._shards = shards

    @property
    def healthy(self) -> bool:
        """Whether the hints of every shard arrive. Otherwise workers poll, which costs the healthy shards little."""
        return all(shard.wakeups.healthy for shard in self._shards)

    def send(self, hints: Hints) -> None:
        for shard in self._shards:
            shard.wakeups.send(hints)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        unsubscribes = [shard.wakeups.subscribe(listener) for shard in self._shards]

        def unsubscribe() -> None:
            for each in unsubscribes:
                each()

        return unsubscribe
