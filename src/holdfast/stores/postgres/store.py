"""The PostgreSQL store: jobs in the application's own database."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, cast

from holdfast.core.clock import Clock
from holdfast.engine.operations import Examine, Finding, Operation, Settle, Start
from holdfast.engine.store import Store, SyncTransaction, Transaction
from holdfast.engine.uninterrupted import uninterrupted
from holdfast.engine.wakeups import ConnectedWakeups, Hints, NoWakeups, Wakeups
from holdfast.stores.postgres import migration
from holdfast.stores.postgres.address import PostgresAddress, parse
from holdfast.stores.postgres.connection import app_transactions
from holdfast.stores.postgres.connection.connect import connect
from holdfast.stores.postgres.connection.connections import Pools
from holdfast.stores.postgres.connection.forks import forget_in_children
from holdfast.stores.postgres.connection.rendering import Renderer, Style
from holdfast.stores.postgres.connection.replica import Replica, ReplicaAway, may_ask
from holdfast.stores.postgres.connection.transaction import PostgresTransaction, SyncPostgresTransaction, Telling
from holdfast.stores.postgres.errors import translated
from holdfast.stores.postgres.execution import Turn
from holdfast.stores.postgres.retrying import Tries
from holdfast.stores.postgres.verbs.plans import plan
from holdfast.stores.postgres.verbs.watermark import Watermarks
from holdfast.stores.postgres.wakeups.wakeups import PostgresWakeups
from holdfast.stores.sql.app_transaction import JoinedSyncTransaction, JoinedTransaction
from holdfast.stores.sql.repeated_hints import Echo
from holdfast.stores.wakeup_address import wakeups_at

R = TypeVar("R")


class PostgresStore(Store):
    """Jobs in a PostgreSQL database, in a schema of their own."""

    def __init__(
        self, url: str | PostgresAddress, *, clock: Clock | None = None, wakeups: str | Wakeups | None = None
    ) -> None:
        self.address = url if isinstance(url, PostgresAddress) else parse(url)
        self.name = self.address.name
        self.schema = self.address.schema
        self.clock = clock
        self._given_wakeups = self.address.wakeups if wakeups is None else wakeups
        self._choose_wakeups()
        self._render = Renderer.of(self.schema, Style.NUMBERED)
        self._marks = Watermarks()
        self._pools = Pools(self.address, self._render)
        self._replica = None if self.address.replica is None else Replica(self.address.replica, self._render)
        self._opened = self._listens_again = False
        forget_in_children(self)

    # Performing

    async def perform(self, operation: Operation[R], /) -> R:
        if self._replica is not None and may_ask(operation):
            with suppress(ReplicaAway):
                return await self._replica.run_async(plan(self.turn(), operation))
        pool = self._pools.verbs_async()
        tries = Tries(operation, self.name, self.schema)
        while True:
            turn = self.turn() if tries.again else self._first_turn(operation)
            try:
                answer = await pool.run(tries.plan(turn))
            except BaseException as error:
                self._tell_unsure(turn)
                await asyncio.sleep(tries.pause(error, turn))
            else:
                self._emit(turn)
                if self._replica is not None and isinstance(operation, Examine):
                    cast("list[Finding]", answer).append(await asyncio.to_thread(self._replica.examine))
                return answer

    def perform_sync(self, operation: Operation[R], /) -> R:
        if self._replica is not None and may_ask(operation):
            with suppress(ReplicaAway):
                return self._replica.run(plan(self.turn(), operation))
        pool = self._pools.renewals if operation.verb == "renew" else self._pools.verbs
        tries = Tries(operation, self.name, self.schema)
        while True:
            turn = self.turn() if tries.again else self._first_turn(operation)
            try:
                answer = pool.run(tries.plan(turn))
            except BaseException as error:
                self._tell_unsure(turn)
                time.sleep(tries.pause(error, turn))
            else:
                self._emit(turn)
                if self._replica is not None and isinstance(operation, Examine):
                    cast("list[Finding]", answer).append(self._replica.examine())
                return answer

    def turn(self) -> Turn:
        """A new performance, by the server's clock or a test's."""
        if self._listens_again and self._listening is not None:
            self._listens_again = False
            uninterrupted(partial(self._listening.open, 0))
        return Turn(clock=None if self.clock is None else self.clock(), marks=self._marks)

    def _first_turn(self, operation: Operation[Any]) -> Turn:
        """The same for a first try. Where a statement commits by itself it may tell all that the turn has to tell."""
        turn = self.turn()
        turn.first = True
        if self._notifies is not None and (
            isinstance(operation, Start) or (isinstance(operation, Settle) and len(operation.settlements) == 1)
        ):
            turn.voice = self._notifies.voice()
        return turn

    def _emit(self, turn: Turn) -> None:
        """Wake whoever has something to do after a turn that has committed, unless it did so itself."""
        if turn.reported and not turn.hints.recorded and self._notifies is not None:
            self._notifies.reported(turn.hints)
        else:
            self.send(turn.hints)

    def _tell_unsure(self, turn: Turn) -> None:
        """Wake them after a turn that failed: part of it may be written, and another try would not tell of that."""
        turn.reported = False
        self._emit(turn)

    def send(self, hints: Hints, /) -> None:
        """Wake whoever has something to do after a commit."""
        if hints:
            self.wakeups.send(hints)

    def send_soon(self, hints: Hints, /) -> None:
        """Wake whoever has something to do after a commit that nobody tells us of."""
        if not isinstance(self.wakeups, NoWakeups):
            self._echo.add(hints)

    # Transactions

    async def begin(self) -> Transaction:
        pool = self._pools.transactions_async()
        try:
            link = await pool.take()
            try:
                await link.begin_lent()
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
                link.begin_lent()
            except BaseException:
                pool.discard(link)
                raise
        except Exception as error:
            raise translated(error, self.name, self.schema) from error
        return SyncPostgresTransaction(pool, link, self._telling())

    def _telling(self) -> Telling:
        return Telling(self.name, self.schema, self.turn, self.send)

    def join(self, tx: Any) -> JoinedTransaction:
        driver = app_transactions.async_driver(tx)
        return JoinedTransaction(app_transactions.Joining(self, driver.after_commit), driver, tx)

    def join_sync(self, tx: Any) -> JoinedSyncTransaction:
        driver = app_transactions.blocking_driver(tx)
        return JoinedSyncTransaction(app_transactions.Joining(self, driver.after_commit), driver, tx)

    # Opening and closing

    async def open(self) -> None:
        """Connect, so that a wrong address is told now and not with the first job."""
        self._open_pools()
        pool = self._pools.verbs_async()
        try:
            await pool.give_back(await pool.take())
        except Exception as error:
            raise translated(error, self.name, self.schema) from error
        await asyncio.to_thread(self._start_listening)

    def open_sync(self) -> None:
        self._open_pools()
        try:
            self._pools.verbs.give_back(self._pools.verbs.take())
        except Exception as error:
            raise translated(error, self.name, self.schema) from error
        self._start_listening()

    async def close(self) -> None:
        await asyncio.to_thread(self._stop_listening)
        self._close_pools()

    def close_sync(self) -> None:
        self._stop_listening()
        self._close_pools()

    def _start_listening(self) -> None:
        self._opened = True
        if self._listening is not None:
            # Subscribed before the caller looks: what is said from here on is heard.
            self._listening.open()

    def _stop_listening(self) -> None:
        self._opened = self._listens_again = False
        self._echo.close()
        if self._listening is not None:
            self._listening.close()

    def _choose_wakeups(self) -> None:
        """Those that were given, those at the address that was given, else LISTEN and NOTIFY."""
        given = self._given_wakeups
        self._listening: ConnectedWakeups | None = None
        self._notifies: PostgresWakeups | None = None
        self._echo = Echo(self.send)
        self.notify = given is None and self.address.notify
        """Whether the application's own transactions tell of themselves, by NOTIFY."""
        if isinstance(given, str):
            self._listening = wakeups_at(given)
        elif self.notify:
            self._listening = self._notifies = PostgresWakeups(self.address)
        self.wakeups = self._listening or (NoWakeups() if given is None or isinstance(given, str) else given)

    def _open_pools(self) -> None:
        self._pools.open()
        if self._replica is not None:
            self._replica.open()

    def _close_pools(self) -> None:
        self._pools.close()
        if self._replica is not None:
            self._replica.close()

    def forget_parent(self) -> None:
        """In a forked child: begin anew. What was open in the parent opens here again when it is first used."""
        self._marks = Watermarks()
        self._pools = Pools(self.address, self._render)
        if self._replica is not None and self.address.replica is not None:
            self._replica = Replica(self.address.replica, self._render)
        # Their threads did not come along, and their subscribers are the parent's.
        self._choose_wakeups()
        self._listens_again = self._opened

    def migration_script(self) -> str:
        return migration.script(self.schema)

    async def migrate(self) -> list[str]:
        return await asyncio.to_thread(self.migrate_sync)

    def migrate_sync(self) -> list[str]:
        try:
            link = connect(self.address, self._render, limited=False)
            with link.connection as connection:
                return migration.migrate(connection, self.schema, deadline=self.address.deadline)
        except Exception as error:
            raise translated(error, self.name, self.schema, "migrate") from error
