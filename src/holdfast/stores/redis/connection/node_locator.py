"""Which server has the keys of the namespace: the one server, a node of a cluster, or the master of a service.

All keys of a namespace are in one hash slot, so at any moment one server has all of them. In a cluster, any node
reports which node serves the slot. With Sentinel, any sentinel reports which server is the master of the service.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from holdfast.errors import StoreUnavailable
from holdfast.stores.redis.address import Address, Node
from holdfast.stores.redis.connection import sync_connection
from holdfast.stores.redis.connection.conversation import CONNECTION_ERRORS, Command, ErrorReply

MAX_QUERY_SECONDS = 2.0
"""Time limit for asking one node of a cluster, or one sentinel, for the server to use."""


class NodeLocator:
    """Finds the server to connect to. Safe to use from any thread."""

    def __init__(self, address: Address, slot: int) -> None:
        self.address = address
        self._slot = slot
        self._lock = threading.Lock()
        self._known = list(address.nodes)
        """Nodes of the cluster, or sentinels."""
        self._node: Node | None = None if self.can_move else address.nodes[0]

    @property
    def can_move(self) -> bool:
        """Whether another server can take over: in a cluster, and with Sentinel."""
        return self.address.cluster or self.address.service is not None

    @property
    def is_known(self) -> bool:
        """Whether the server is known. If not, `find` asks for it."""
        return self._node is not None

    @property
    def node(self) -> Node:
        """The server to connect to. Only meaningful after `find`."""
        return self._node or self._known[0]

    def move(self, node: Node) -> None:
        """Use this node: a node of the cluster replied that the slot is there now."""
        with self._lock:
            host = node[0] or (self._node or self._known[0])[0]
            self._node = (host, node[1])
            if self.address.cluster and self._node not in self._known:
                self._known.append(self._node)

    def forget(self) -> None:
        """The server failed, or is a replica now. The next `find` asks again which server to use."""
        if self.can_move:
            self._node = None

    def find(self, timeout: float) -> None:
        """Ask the known nodes or sentinels which server to use. Blocks; returns at once if the server is known.

        Raises ConnectionError if none of them answers, and StoreUnavailable if no sentinel knows the service.
        """
        if self._node is not None:
            return
        deadline = time.monotonic() + timeout
        failure: Exception | None = None
        service_unknown = False
        for node in list(self._known):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            try:
                reply = self._query(node, min(MAX_QUERY_SECONDS, left))
            except CONNECTION_ERRORS as error:
                failure = error
                continue
            if isinstance(reply, ErrorReply):
                failure = reply
            elif self.address.cluster:
                self._read_slots(reply, node)
            elif reply is None:
                service_unknown = True
            else:
                self._use_master(reply, sentinel=node)
            if self.is_known:
                return
        if service_unknown:
            detail = f"no sentinel knows the service {self.address.service!r}; check the path of the address"
            raise StoreUnavailable(self.address.shown, detail)
        if self.address.cluster:
            raise ConnectionError(
                f"no node of the cluster reports which node serves the namespace ({failure})"
            ) from failure
        raise ConnectionError(f"no sentinel answers ({failure})") from failure

    def connect(self, timeout: float) -> sync_connection.SyncConnection:
        """A blocking connection to the server that has the keys."""
        deadline = time.monotonic() + timeout
        self.find(timeout)
        return sync_connection.connect(self.address, self.node, deadline - time.monotonic())

    def _query(self, node: Node, timeout: float) -> Any:
        deadline = time.monotonic() + timeout
        address = self.address
        command: Command = ("CLUSTER", "SLOTS")
        if address.service is not None:
            command = ("SENTINEL", "get-master-addr-by-name", address.service)
            address = address.of_sentinels()
        connection = sync_connection.connect(address, node, timeout)
        try:
            (reply,) = connection.exchange([command], deadline - time.monotonic())
        finally:
            connection.close()
        return reply

    def _use_master(self, reply: Any, *, sentinel: Node) -> None:
        host, port = reply
        with self._lock:
            self._node = (_text(host), int(port))
            # Ask the sentinel that answered first the next time: the others may be unreachable.
            self._known.remove(sentinel)
            self._known.insert(0, sentinel)

    def _read_slots(self, ranges: Any, asked: Node) -> None:
        for first, last, (host, port, *_), *replicas in ranges:
            for replica_host, replica_port, *_ in replicas:
                node = (_text(replica_host) or asked[0], int(replica_port))
                if node not in self._known:
                    self._known.append(node)
            if first <= self._slot <= last:
                self.move((_text(host) or asked[0], int(port)))


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode()
