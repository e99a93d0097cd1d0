"""Operations on a connection of Django to PostgreSQL. Imported only for such a database: it needs psycopg 3."""

from __future__ import annotations

from typing import Any

from django.db import connections

from holdfast.contrib.django.addresses import postgres_address
from holdfast.core.clock import Clock
from holdfast.engine.wakeups import Hints
from holdfast.stores.postgres.address import PostgresAddress, parse
from holdfast.stores.postgres.connection.app_transactions import SyncAppTransaction, check_open
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.wakeups.notification import channel, payloads


class _Store:
    """What a transaction of the application needs of a store. It has no connections."""

    def __init__(self, address: PostgresAddress, clock: Clock | None, send: Any) -> None:
        self.address = address
        self.name = address.name
        self.schema = address.schema
        # The hints are sent by `send`, after the commit.
        self.notify = False
        self._clock = clock
        self.send = send

    def new_context(self) -> PlanContext:
        return PlanContext(clock=None if self._clock is None else self._clock())

    def send_soon(self, hints: Hints, /) -> None:
        """Send at once: the connection is in the open transaction, and the server sends them at its commit."""
        self.send(hints)


class PostgresJoined(SyncAppTransaction):
    """The open transaction of a database of Django. It is the store's database, so this is not checked."""

    def __init__(self, alias: str, *, schema: str, clock: Clock | None, send: Any) -> None:
        wrapper = connections[alias]
        super().__init__(_Store(parse(postgres_address(wrapper, schema)), clock, send), wrapper)

    def _check(self, connection: Any) -> None:
        check_open(connection, self._identity)


def notify(alias: str, schema: str, hints: Hints) -> None:
    """Send hints to other processes, on the connection of Django."""
    with connections[alias].cursor() as cursor:
        for payload in payloads(hints):
            cursor.execute("select pg_notify(%s, %s)", [channel(schema), payload])
