"""Schemas and databases for tests, on a server that may be shared."""

from __future__ import annotations

import atexit
from functools import cache
from uuid import uuid4

import psycopg

from holdfast.stores.postgres import PostgresStore
from tests.servers.postgres import Postgres, shared_postgres


def fresh_address(**options: str) -> str:
    """The address of a store with nothing in it, its tables made, on the shared server."""
    address = shared_postgres().address(schema=f"h{uuid4().hex[:12]}", **options)
    store = PostgresStore(address)
    store.migrate_sync()
    return address


def new_database(server: Postgres) -> str:
    """The address of a new, empty database."""
    name = f"shop_{uuid4().hex[:12]}"
    with server.connect() as connection:
        connection.autocommit = True
        connection.execute(f'create database "{name}"'.encode())
    return server.address(database=name)


class EmptiedSchema:
    """A schema with Holdfast's tables for many tests. Creating the tables takes longer than most tests."""

    # The row that the migration writes into counter_lock is part of the schema.
    KEPT = ("migration", "counter_lock")

    def __init__(self) -> None:
        self.name = f"h{uuid4().hex[:12]}"
        PostgresStore(shared_postgres().address(schema=self.name)).migrate_sync()
        self._connection = shared_postgres().connect()
        atexit.register(self._connection.close)  # runs before the server's own exit handler, which was registered first
        # Without triggers: they would write rows into tables that are already empty.
        self._connection.execute("set lock_timeout = '5s'; set session_replication_role = replica")
        rows = self._connection.execute("select tablename from pg_tables where schemaname = %s", [self.name]).fetchall()
        # For small tables, delete is faster than truncate.
        self._deletions = "; ".join(f"delete from {self.name}.{table}" for (table,) in rows if table not in self.KEPT)

    def empty(self) -> None:
        self._connection.execute(self._deletions.encode())


@cache
def _emptied_schemas() -> list[EmptiedSchema]:
    return []


def emptied_address(**options: str) -> str:
    """The address of a store with nothing in it, on a schema that other tests of this process have used before.

    Tests that change the schema, or leave processes behind, need `fresh_address`.
    """
    schemas = _emptied_schemas()
    if schemas:
        try:
            schemas[-1].empty()
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):  # an earlier test left a transaction
            schemas.clear()
    if not schemas:
        schemas.append(EmptiedSchema())
    return shared_postgres().address(schema=schemas[-1].name, **options)
