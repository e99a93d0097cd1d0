"""Where the namespace's keys are: one server, or whichever node of a cluster serves their slot."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import redis.asyncio.connection as async_connections
import redis.connection as connections
from redis.exceptions import RedisError

from holdfast.stores.redis.address import Address, Node
from holdfast.stores.redis.exchange import CUT


class Route:
    """Makes connections to the right place. Safe from any thread.

    All keys of a namespace are in one slot, so a cluster is, at any moment, one server as well: which one is learned
    by asking, and from the answers of nodes that no longer serve it.
    """

    def __init__(self, address: Address, slot: int) -> None:
        self.address = address
        self._slot = slot
        self._lock = threading.Lock()
        self._known = list(address.nodes)
        self._node: Node | None = None if address.cluster else address.nodes[0]

    @property
    def settled(self) -> bool:
        """Whether it is known where to connect to."""
        return self._node is not None

    def move(self, node: Node) -> None:
        """A node said where the slot is now."""
        with self._lock:
            host = node[0] or (self._node or self._known[0])[0]
            self._node = (host, node[1])
            if self._node not in self._known:
                self._known.append(self._node)

    def lose(self) -> None:
        """The node cannot be reached: in a cluster another may have taken over."""
        if self.address.cluster:
            self._node = None

    def find(self) -> None:
        """Ask the known nodes of the cluster which one serves the slot. Blocks; does nothing where that is known."""
        if self._node is not None:
            return
        failure: Exception | None = None
        for node in list(self._known):
            connection = connections.Connection(**self._options(node), socket_timeout=2.0)
            try:
                connection.connect()
                connection.send_command("CLUSTER", "SLOTS")
                ranges: Any = connection.read_response()
                self._learn(ranges, node)
            except (RedisError, *CUT) as error:
                failure = error
            finally:
                connection.disconnect()
            if self.settled:
                return
        raise ConnectionError("no node of the cluster says who serves the namespace") from failure

    def connection(self, timeout: float) -> connections.AbstractConnection:
        """A blocking connection, not yet connected."""
        if self.address.socket is not None:
            return connections.UnixDomainSocketConnection(
                path=self.address.socket, **self._login(), socket_timeout=timeout
            )
        kind = connections.Connection if self.address.tls is None else connections.SSLConnection
        return kind(**self._options(self._node or self._known[0]), socket_timeout=timeout)

    def async_connection(self) -> async_connections.AbstractConnection:
        """An async connection, not yet connected. It has no timeouts: whoever talks over it sets the deadline."""
        if self.address.socket is not None:
            return async_connections.UnixDomainSocketConnection(path=self.address.socket, **self._login())
        kind = async_connections.Connection if self.address.tls is None else async_connections.SSLConnection
        return kind(**self._options(self._node or self._known[0]), socket_timeout=None)

    def _learn(self, ranges: Any, asked: Node) -> None:
        for first, last, (host, port, *_), *replicas in ranges:
            for replica_host, replica_port, *_ in replicas:
                node = (_text(replica_host) or asked[0], int(replica_port))
                if node not in self._known:
                    self._known.append(node)
            if first <= self._slot <= last:
                self.move((_text(host) or asked[0], int(port)))

    def _login(self) -> dict[str, Any]:
        return {**self.address.login, "protocol": 2, "client_name": "holdfast"}

    def _options(self, node: Node) -> dict[str, Any]:
        connect = {"socket_connect_timeout": min(2.0, self.address.timeout), "socket_keepalive": True}
        return {**self._login(), **connect, **(self.address.tls or {}), "host": node[0], "port": node[1]}


def _text(value: Any) -> str:
    with suppress(AttributeError):
        return value.decode()  # type: ignore[no-any-return]
    return value or ""
