"""Where the namespace's keys are: one server, or whichever node of a cluster serves their slot."""

from __future__ import annotations

import threading
import time
from typing import Any

from holdfast.stores.redis.address import Address, Node
from holdfast.stores.redis.connection import sync_connection
from holdfast.stores.redis.connection.conversation import CUT, Refused

ASK_SECONDS = 2.0
"""How long one node of a cluster may take at most to say who serves the namespace."""


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

    def find(self, timeout: float) -> None:
        """Ask the known nodes of the cluster which one serves the slot. Blocks; does nothing where that is known."""
        if self._node is not None:
            return
        deadline = time.monotonic() + timeout
        failure: Exception | None = None
        for node in list(self._known):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            try:
                ranges = self._ask(node, min(ASK_SECONDS, left))
            except CUT as error:
                failure = error
                continue
            if isinstance(ranges, Refused):
                failure = ranges
                continue
            self._learn(ranges, node)
            if self.settled:
                return
        raise ConnectionError(f"no node of the cluster says who serves the namespace ({failure})") from failure

    def connect(self, timeout: float) -> sync_connection.Line:
        """A blocking connection to whoever serves the namespace."""
        deadline = time.monotonic() + timeout
        self.find(timeout)
        return sync_connection.connect(self.address, self.node, deadline - time.monotonic())

    def _ask(self, node: Node, timeout: float) -> Any:
        deadline = time.monotonic() + timeout
        asked = sync_connection.connect(self.address, node, timeout)
        try:
            (ranges,) = asked.exchange([("CLUSTER", "SLOTS")], deadline - time.monotonic())
        finally:
            asked.close()
        return ranges

    def _learn(self, ranges: Any, asked: Node) -> None:
        for first, last, (host, port, *_), *replicas in ranges:
            for replica_host, replica_port, *_ in replicas:
                node = (_text(replica_host) or asked[0], int(replica_port))
                if node not in self._known:
                    self._known.append(node)
            if first <= self._slot <= last:
                self.move((_text(host) or asked[0], int(port)))


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode()
