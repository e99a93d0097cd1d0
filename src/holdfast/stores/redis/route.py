"""Where the namespace's keys are: one server, or whichever node of a cluster serves their slot."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

import redis.connection as connections
from redis.exceptions import RedisError

from holdfast.stores.redis.address import Address, Node
from holdfast.stores.redis.exchange import CUT


class Connection(Protocol):
    """What we use of the driver's blocking connections, which tell type checkers little."""

    def connect(self) -> None: ...

    def disconnect(self) -> None: ...

    def send_command(self, *command: Any) -> None: ...

    def send_packed_command(self, command: Sequence[bytes], check_health: bool = True) -> None: ...

    def can_read(self, timeout: float) -> bool: ...

    def read_response(self) -> Any: ...


_tcp, _tls, _unix = (
    cast(Callable[..., Connection], kind)
    for kind in (connections.Connection, connections.SSLConnection, connections.UnixDomainSocketConnection)
)


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

    @property
    def node(self) -> Node:
        """Where to connect to, or at least to ask."""
        return self._node or self._known[0]

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
            connection = self._connection_to(node, 2.0)
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

    def connection(self, timeout: float) -> Connection:
        """A blocking connection, not yet connected."""
        if self.address.socket is not None:
            return _unix(path=self.address.socket, **self._login(), socket_timeout=timeout)
        return self._connection_to(self.node, timeout)

    def _connection_to(self, node: Node, timeout: float) -> Connection:
        make = _tcp if self.address.tls is None else _tls
        return make(**self._options(node), socket_timeout=timeout)

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


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode()
