"""The PostgreSQL store: jobs in the application's own database."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

from holdfast.clock import Clock
from holdfast.errors import Conflict, HoldfastError
from holdfast.operations import ClaimJobs, Operation
from holdfast.sql.joined import JoinedSyncTransaction, JoinedTransaction
from holdfast.sql.plan import Plan
from holdfast.store import Store, SyncTransaction, Transaction
from holdfast.stores.postgres import joining, migrating
from holdfast.stores.postgres.address import PostgresAddress, parse
from holdfast.stores.postgres.holding import claim_again
from holdfast.stores.postgres.link import connect, connect_async
from holdfast.stores.postgres.outage import Patience, Written, translated, verdict
from holdfast.stores.postgres.pool import AsyncPool, Pool
from holdfast.stores.postgres.rendering import Renderer, Style
from holdfast.stores.postgres.transaction import PostgresTransaction, SyncPostgresTransaction, Telling
from holdfast.stores.postgres.turn import Turn
from holdfast.stores.postgres.verbs import plan
from holdfast.stores.postgres.wakeups import PostgresWakeups
from holdfast.stores.postgres.watermark import Watermarks
from holdfast.wakeups import Hints, NoWakeups, Wakeups

R = TypeVar("R")


class PostgresStore(Store):
    """Jobs in a PostgreSQL database, in a schema of their own."""

    def __init__(
        self, url: str | PostgresAddress, *, clock: Clock | None = None, wakeups: Wakeups | None = None
    ) -> None:
        self.address = url if isinstance(url, PostgresAddress) else parse(url)
        self.name = self.address.name
        self.schema = self.address.schema
        self.notify = self.address.notify
        self.clock = clock
        self._listening = PostgresWakeups(self.address) if wakeups is None and self.address.notify else None
        self.wakeups = wakeups or self._listening or NoWakeups()
        self._render = Renderer.of(self.schema, Style.NAMED)
        self._marks = Watermarks()
        self._pools = _Pools(self.address, self._render)

    # Performing

    async def perform(self, operation: Operation[R], /) -> R:
        patience = Patience()
        pool = self._pools.verbs_async()
        make: Callable[[Turn, Operation[R]], Plan[R]] = plan
        while True:
            turn = self.turn()
            try:
                answer = await pool.run(make(turn, operation))
            except Exception as error:
                pause = self._pause(operation, error, patience)
                make = _again(operation, error, make)
                await asyncio.sleep(pause)
            else:
                self.send(turn.hints)
                return answer

    def perform_sync(self, operation: Operation[R], /) -> R:
        patience = Patience()
        pool = self._pools.renewals if operation.verb == "renew" else self._pools.verbs
        make: Callable[[Turn, Operation[R]], Plan[R]] = plan
        while True:
            turn = self.turn()
            try:
                answer = pool.run(make(turn, operation))
            except Exception as error:
                pause = self._pause(operation, error, patience)
                make = _again(operation, error, make)
                time.sleep(pause)
            else:
                self.send(turn.hints)
                return answer

    def _pause(self, operation: Operation[Any], error: Exception, patience: Patience) -> float:
        """How long to wait before another try; raises what the caller should see if there should be none."""
        if isinstance(error, HoldfastError) and not (isinstance(error, Conflict) and operation.verb == "start"):
            raise error
        if isinstance(error, Conflict):
            return 0.0
        pause = patience.pause(operation, error)
        if pause is None:
            shown = translated(error, self.name, self.schema)
            if shown is error:
                raise error
            raise shown from error
        return pause

    def turn(self) -> Turn:
        """A new performance, by the server's clock or a test's."""
        return Turn(clock=None if self.clock is None else self.clock(), marks=self._marks)

    def send(self, hints: Hints, /) -> None:
        """Wake whoever has something to do after a commit."""
        if hints:
            self.wakeups.send(hints)

    # Transactions

    async def begin(self) -> Transaction:
        pool = self._pools.transactions_async()
        try:
            link = await pool.take()
            try:
                await link.begin()
            except BaseException:
                pool.discard(link)
                raise
        except Exception as error:
            raise translated(error, self.name, self.schema) from error
        return PostgresTransaction(pool, link, self._telling())

    def begin_sync(self) -> SyncTransaction:
        pool = self._pools.transactions
        try:
            link = pool.take()
            try:
                link.begin()
            except BaseException:
                pool.discard(link)
                raise
        except Exception as error:
            raise translated(error, self.name, self.schema) from error
        return SyncPostgresTransaction(pool, link, self._telling())

    def _telling(self) -> Telling:
        return Telling(self.name, self.schema, self.turn, self.send)

    def join(self, tx: Any) -> Transaction:
        driver = joining.async_driver(tx)
        return JoinedTransaction(joining.Joining(self, driver.after_commit), driver, tx)

    def join_sync(self, tx: Any) -> SyncTransaction:
        driver = joining.blocking_driver(tx)
        return JoinedSyncTransaction(joining.Joining(self, driver.after_commit), driver, tx)

    # Opening and closing

    async def open(self) -> None:
        """Connect, so that a wrong address is told now and not with the first job."""
        await asyncio.to_thread(self.open_sync)

    def open_sync(self) -> None:
        try:
            self._pools.verbs.give_back(self._pools.verbs.take())
        except Exception as error:
            raise translated(error, self.name, self.schema) from error
        if self._listening is not None:
            self._listening.start()
            # Subscribed before the caller looks: what is said from here on is heard.
            self._listening.wait_until_healthy(2.0)

    async def close(self) -> None:
        await asyncio.to_thread(self._stop_listening)
        self._pools.close()

    def close_sync(self) -> None:
        self._stop_listening()
        self._pools.close()

    def _stop_listening(self) -> None:
        if self._listening is not None:
            self._listening.stop()

    async def migrate(self) -> list[str]:
        return await asyncio.to_thread(self.migrate_sync)

    def migrate_sync(self) -> list[str]:
        try:
            link = connect(self.address, self._render, limited=False)
            with link.connection as connection:
                return migrating.migrate(connection, self.schema)
        except Exception as error:
            raise translated(error, self.name, self.schema) from error


class _Pools:
    """Every connection of a store: for verbs, for transactions, and one for renewals, which must not wait."""

    def __init__(self, address: PostgresAddress, render: Renderer) -> None:
        self._address = address
        self._render = render
        self._lock = threading.Lock()
        self._async: dict[asyncio.AbstractEventLoop, tuple[AsyncPool, AsyncPool]] = {}
        self._make()

    def _make(self) -> None:
        size, patience = self._address.pool, self._address.deadline
        verb = partial(connect, self._address, self._render, limited=True)
        free = partial(connect, self._address, self._render, limited=False)
        self.verbs = Pool(verb, size, patience)
        self.transactions = Pool(free, size, patience)
        self.renewals = Pool(verb, 1, patience)

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
                size, patience = self._address.pool, self._address.deadline
                verb = partial(connect_async, self._address, self._render, limited=True)
                free = partial(connect_async, self._address, self._render, limited=False)
                pools = self._async[loop] = AsyncPool(verb, size, patience), AsyncPool(free, size, patience)
        return pools

    def close(self) -> None:
        with self._lock:
            for verbs, transactions in self._async.values():
                verbs.close()
                transactions.close()
            self._async.clear()
            for pool in (self.verbs, self.transactions, self.renewals):
                pool.close()
            self._make()


def _again(
    operation: Operation[R], error: Exception, make: Callable[[Turn, Operation[R]], Plan[R]]
) -> Callable[[Turn, Operation[R]], Plan[R]]:
    """The plan for another try: a claim that may have been written first looks for what it took."""
    if isinstance(operation, ClaimJobs) and verdict(error) is Written.UNKNOWN:
        return cast("Callable[[Turn, Operation[R]], Plan[R]]", claim_again)
    return make
