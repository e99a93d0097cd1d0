"""The pub/sub channel of a namespace. The scripts of the store publish to it too."""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.engine.wakeups import ANYTHING, Hints
from holdfast.stores.pubsub.channel import Received, Refused, Subscribed
from holdfast.stores.pubsub.sender import Sender
from holdfast.stores.redis.connection.connection_pool import ConnectionPool
from holdfast.stores.redis.connection.conversation import (
    CommandConversation,
    ConnectionLost,
    ErrorReply,
    ServerFeatures,
)
from holdfast.stores.redis.connection.node_locator import NodeLocator
from holdfast.stores.redis.connection.sync_connection import SyncConnection
from holdfast.stores.redis.verbs.decode import decode_hints
from holdfast.stores.redis.verbs.encode import pack


class RedisChannel:
    """Publishes with PUBLISH, or SPUBLISH in a cluster whose servers have it."""

    kind = "redis"

    def __init__(self, locator: NodeLocator, name: str, features: ServerFeatures) -> None:
        self.shown = locator.address.shown
        self._locator = locator
        self._name = name
        self._features = features
        self._pool = ConnectionPool(locator)
        self._sender = Sender()

    def subscribe(self) -> RedisSubscription:
        connection = self._locator.connect(self._locator.address.timeout)
        sharded = self._features.publish == "SPUBLISH"
        try:
            connection.send(("SSUBSCRIBE" if sharded else "SUBSCRIBE", self._name))
        except BaseException:
            connection.close()
            raise
        return RedisSubscription(connection, self._sender)

    def publish(self, hints: Hints) -> None:
        message = {"due": list(hints.due), "finished": list(hints.finished), "lost": list(hints.lost)}
        flags = {"recorded": hints.recorded, "anything": hints.anything, "source": self._sender.id}
        workers = {"workers": list(hints.workers)} if hints.workers else {}
        command = (self._features.publish, self._name, pack(message | flags | workers))
        (reply,) = self._pool.run(CommandConversation(command))
        if isinstance(reply, ErrorReply):
            raise Refused(str(reply))

    def stop_publishing(self) -> None:
        self._pool.close()

    def forget(self) -> None:
        self._locator.forget()


class RedisSubscription:
    """A connection that is subscribed to the channel."""

    def __init__(self, connection: SyncConnection, sender: Sender) -> None:
        self._connection = connection
        self._sender = sender
        self.shut_down = connection.shut_down
        self.close = connection.close

    def read(self, timeout: float) -> Received:
        message = self._connection.read(timeout)
        if isinstance(message, ErrorReply):
            raise ConnectionLost(str(message))
        if not isinstance(message, list):
            return None
        values: list[Any] = message  # pyright: ignore[reportUnknownVariableType]
        match values[0]:
            case b"message" | b"smessage":
                return self._hints(values[2])
            case b"subscribe" | b"ssubscribe":
                return Subscribed()
            case b"sunsubscribe":
                raise ConnectionLost("the channel's slot moved to another node")
            case _:
                return None

    def ping(self) -> None:
        self._connection.send(("PING",))

    def _hints(self, message: bytes) -> Hints | None:
        try:
            reported = decode_hints(message)
        except msgspec.MsgspecError:
            return ANYTHING
        if reported.source == self._sender.id:
            return None
        return Hints(
            set(reported.due), set(reported.finished), set(reported.lost), reported.recorded, reported.anything,
            set(reported.workers),
        )  # fmt: skip
