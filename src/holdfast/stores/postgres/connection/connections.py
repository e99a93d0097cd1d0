"""Every connection that a store makes to one server."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

from holdfast.stores.postgres.address import PostgresAddress
from holdfast.stores.postgres.connection.connect import connect, connect_async
from holdfast.stores.postgres.connection.pool import AsyncPool, Pool
from holdfast.stores.postgres.connection.rendering import Renderer


class Pools:
    """Connections for verbs, for transactions, and one for renewals, which must not wait. Each is made when needed.

    Verbs and transactions have places of their own: a handler that starts a chain in the middle of its transaction
    must not wait for other handlers' transactions to end.

    Once closed they keep nothing: a handler's thread that outlives the worker gets a connection for each call, no more.
    """

    def __init__(self, address: PostgresAddress, render: Renderer, *, patience: float | None = None) -> None:
        self._address = address
        self._render = render
        self._patience = address.deadline if patience is None else patience
        self._lock = threading.Lock()
        self._async: dict[asyncio.AbstractEventLoop, tuple[AsyncPool, AsyncPool]] = {}
        self._closed = True
        self.open()

    def open(self) -> None:
        """Keep connections from now on, also after `close`."""
        if not self._closed:
            return
        self._closed = False
        self._async.clear()
        verb = partial(connect, self._address, self._render, limited=True)
        free = partial(connect, self._address, self._render, limited=False)
        self.verbs = Pool(verb, self._address.pool, self._patience)
        self.transactions = Pool(free, self._address.pool, self._patience)
        self.renewals = Pool(verb, 1, self._patience)

    def verbs_async(self) -> AsyncPool:
        return self._of_loop()[0]

    def transactions_async(self) -> AsyncPool:
        return self._of_loop()[1]

    def _of_loop(self) -> tuple[AsyncPool, AsyncPool]:
        """An async connection belongs to the event loop it was made in."""
        loop = asyncio.get_running_loop()
        pools = self._async.get(loop)
        if pools is None:
            with self._lock:
                self._forget_closed_loops()
                size = self._address.pool
                verb = partial(connect_async, self._address, self._render, limited=True)
                free = partial(connect_async, self._address, self._render, limited=False)
                pools = AsyncPool(verb, size, self._patience), AsyncPool(free, size, self._patience)
                if self._closed:
                    for pool in pools:
                        pool.close()
                self._async[loop] = pools
        return pools

    def _forget_closed_loops(self) -> None:
        """Whoever calls `asyncio.run` again and again leaves connections behind that nobody can use."""
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
