"""A store that performs every operation on Django's connection of the current thread.

Web processes and tests use it: no further connection to the database is opened, and everything belongs to the open
`atomic()`, if there is one. Workers have a store with its own connections.
"""

from __future__ import annotations

import logging
from typing import Any, NoReturn, TypeVar

from asgiref.sync import sync_to_async
from django.db import connections, transaction

from holdfast.contrib.django.async_guard import refusing_models
from holdfast.contrib.django.async_transactions import AsyncConnectionTransaction
from holdfast.contrib.django.connection_plans import joined
from holdfast.contrib.django.transactions import ConnectionTransaction
from holdfast.core.clock import Clock
from holdfast.engine.operations import Operation
from holdfast.engine.store import AppTransaction, Store, SyncAppTransaction, Transaction
from holdfast.engine.wakeups import Hints, LocalWakeups

R = TypeVar("R")

_log = logging.getLogger("holdfast.django")


class ConnectionStore(Store):
    """The jobs of a database of Django, through the connection of the calling thread."""

    def __init__(self, alias: str, *, schema: str = "holdfast", clock: Clock | None = None) -> None:
        self.alias = alias
        self.name = f"django:{alias}"
        self.schema = schema
        self.clock = clock
        self.wakeups = ConnectionWakeups(alias, schema)

    async def open(self) -> None:
        """Nothing to do: Django connects at the first statement."""

    async def close(self) -> None:
        """Nothing to do: Django closes its connections."""

    def open_sync(self) -> None:
        """Nothing to do, as `open`."""

    def close_sync(self) -> None:
        """Nothing to do, as `close`."""

    def is_in_transaction(self) -> bool:
        """Whether the connection of this thread has an open transaction."""
        wrapper = connections[self.alias]
        return wrapper.in_atomic_block or (wrapper.connection is not None and not wrapper.get_autocommit())

    def perform_sync(self, operation: Operation[R], /) -> R:
        with refusing_models(False):
            if self.is_in_transaction():
                return self.join_sync(self.alias).perform(operation)
            with transaction.atomic(using=self.alias):
                return self.join_sync(self.alias).perform(operation)

    async def perform(self, operation: Operation[R], /) -> R:
        return await sync_to_async(self.perform_sync)(operation)

    def begin_sync(self) -> ConnectionTransaction:
        return ConnectionTransaction(connections[self.alias], self.join_sync)

    async def begin(self) -> Transaction:
        return AsyncConnectionTransaction(await sync_to_async(self.begin_sync)())

    def join_sync(self, tx: Any) -> SyncAppTransaction:
        alias = tx if isinstance(tx, str) else getattr(tx, "alias", None)
        if alias != self.alias:
            raise ValueError(
                f"tx is {tx!r:.60}: the jobs are in database {self.alias!r}. Give tx={self.alias!r}, or leave it out: "
                "calls inside atomic() belong to its transaction"
            )
        return joined(self.alias, schema=self.schema, clock=self.clock, send=self.wakeups.send)

    def join(self, tx: Any) -> AppTransaction:
        raise TypeError("the transactions of Django are blocking: use the client of holdfast.contrib.django")

    async def migrate(self) -> list[str]:
        self.migrate_sync()

    def migrate_sync(self) -> NoReturn:
        raise RuntimeError("the tables are made by Django's migrations: run `manage.py migrate`")


class ConnectionWakeups(LocalWakeups):
    """Sends hints on the connection of Django after the commit. It receives only those of its own process."""

    def __init__(self, alias: str, schema: str) -> None:
        super().__init__()
        self._alias = alias
        self._schema = schema

    @property
    def healthy(self) -> bool:
        return False

    def send(self, hints: Hints) -> None:
        super().send(hints)
        if connections[self._alias].vendor != "postgresql":
            return  # on SQLite the transaction has written the hints
        try:
            from holdfast.contrib.django.postgres_plans import notify

            notify(self._alias, self._schema, hints)
        except Exception:
            _log.exception("could not send the wake-ups of %s after a commit", self._alias)
