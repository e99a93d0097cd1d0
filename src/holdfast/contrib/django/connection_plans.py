"""Operations on a connection of Django, inside its open transaction, without a connection of the store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from django.db import connections

from holdfast.core.clock import Clock, system_clock
from holdfast.engine.operations import Operation
from holdfast.engine.store import SyncAppTransaction
from holdfast.engine.wakeups import Hints
from holdfast.stores.drivers.django_sqlite import DjangoSqliteDriver
from holdfast.stores.sql.app_transaction import JoinedSyncTransaction
from holdfast.stores.sql.lent_transaction import TransactionIdentity
from holdfast.stores.sql.plan import Plan, PlanContext
from holdfast.stores.sqlite.connection import app_transactions
from holdfast.stores.sqlite.errors import translated
from holdfast.stores.sqlite.wakeups import hint_table

R = TypeVar("R")

Send = Callable[[Hints], None]


def joined(alias: str, *, schema: str, clock: Clock | None, send: Send) -> SyncAppTransaction:
    """The open transaction of this database, in this thread. `send` is called with hints after its commit."""
    if connections[alias].vendor == "sqlite":
        wrapper = connections[alias]
        return JoinedSyncTransaction(_SqlitePlans(f"django:{alias}", clock, send), DjangoSqliteDriver(wrapper), wrapper)
    from holdfast.contrib.django.postgres_plans import PostgresJoined

    return PostgresJoined(alias, schema=schema, clock=clock, send=send)


class _SqlitePlans:
    """The plans of a SQLite database: also one in memory, as in tests."""

    def __init__(self, name: str, clock: Clock | None, send: Send) -> None:
        self._name = name
        self._clock = clock or system_clock
        self.send = send

    def new_context(self) -> PlanContext:
        return PlanContext(self._clock())

    def plan_joined(
        self, operation: Operation[R], context: PlanContext, connection: Any, identity: TransactionIdentity, /
    ) -> Plan[R]:
        answer = yield from app_transactions.joined(operation, context, connection, path=None, identity=identity)
        # For the file watch of other processes, and of other stores in this one.
        yield from hint_table.write("", context.hints)
        return answer

    def translated(self) -> AbstractContextManager[None]:
        return translated(self._name)

    def send_soon(self, hints: Hints, /) -> None:
        """Nothing to do: without a commit hook, the file watch detects the commit."""
