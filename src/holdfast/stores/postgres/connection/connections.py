"""All connections of a store to one server."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

from holdfast.stores.postgres.address import PostgresAddress
from holdfast.stores.postgres.connection.connect import connect, connect_async
from holdfast.stores.postgres.connection.pool import AsyncPool, Pool
from holdfast.stores.postgres.connection.rendering import Renderer


class Connections:
    """Separate pools for verbs, for transactions and for renewals. Each connection is opened when it is needed.

    A handler may start a chain while its transaction is open. With one pool it could wait for the transactions of other
    handlers, which wait for the same pool. Renewals must not wait at all.

    After `close` no connection is kept. A handler thread that outlives the worker opens one for each call.
    """

    def __init__(self, address: PostgresAddress, render: Renderer, *, timeout: float | None = None) -> None:
        self._address = address
        self._render = render
        self._timeout = address.deadline if timeout is None else timeout
        self._lock = threading.Lock()
        self._async: dict[asyncio.AbstractEventLoop, tuple[AsyncPool, AsyncPool]] = {}
        self._closed = True
        self.open()

    def open(self) -> None:
        """Create the pools, unless they are open. This can be called again after `close`."""
        if not self._closed:
            return
        self._closed = False
        self._async.clear()
        verb = partial(connect, self._address, self._render, limited=True)
        free = partial(connect, self._address, self._render, limited=False)
        self.verbs = Pool(verb, self._address.pool, self._timeout)
        self.transactions = Pool(free, self._address.pool, self._timeout)
        self.renewals = Pool(verb, 1, self._timeout)

    def verbs_async(self) -> AsyncPool:
        return self._of_loop()[0]

    def transactions_async(self) -> AsyncPool:
        return self._of_loop()[1]

    def _of_loop(self) -> tuple[AsyncPool, AsyncPool]:
        """The pools of the running event loop: an async connection works only in the loop where it was opened."""
        loop = asyncio.get_running_loop()
        pools = self._async.get(loop)
        if pools is None:
            with self._lock:
                self._forget_closed_loops()
                size = self._address.pool
                verb = partial(connect_async, self._address, self._render, limited=True)
                free = partial(connect_async, self._address, self._render, limited=False)
                pools = AsyncPool(verb, size, self._timeout), AsyncPool(free, size, self._timeout)
                if self._closed:
                    for pool in pools:
                        pool.close()
                self._async[loop] = pools
        return pools

    def _forget_closed_loops(self) -> None:
        """Close connections that repeated calls of `asyncio.run` left behind: no other loop can use them."""
        for loop in [loop for loop in self._async if loop.is_closed()]:
            for pool in self._async.pop(loop):
                pool.close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for verbs, transactions in self._async.values():
                verbs.close()
                transactions.close()
            self._async.clear()
            for pool in (self.verbs, self.transactions, self.renewals):
                pool.close()
