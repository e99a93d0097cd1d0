"""Wake-ups by Redis pub/sub.

The scripts of the Redis store publish them; for another kind of store a publisher thread does. A subscriber thread
receives them.
"""

from __future__ import annotations

from typing import Self

from holdfast.stores.pubsub.wakeups import PubSubWakeups
from holdfast.stores.redis.address import read_address
from holdfast.stores.redis.connection.conversation import ServerFeatures
from holdfast.stores.redis.connection.node_locator import NodeLocator
from holdfast.stores.redis.keys import Keys
from holdfast.stores.redis.wakeups.channel import RedisChannel


class RedisWakeups(PubSubWakeups):
    """Hints between all processes that use a namespace of a Redis server."""

    def __init__(self, locator: NodeLocator, channel: str, features: ServerFeatures) -> None:
        super().__init__(RedisChannel(locator, channel, features))

    @classmethod
    def at(cls, address: str) -> Self:
        """Wake-ups of another kind of store, sent through the Redis at this address."""
        read = read_address(address)
        keys = Keys(read.namespace)
        # PUBLISH also in a cluster: every version supports it.
        return cls(NodeLocator(read, keys.slot), keys.channel, ServerFeatures())
