"""Bring the schema up to date: numbered steps, each applied once, one process at a time."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import psycopg

from holdfast.stores.postgres.connection.deadlines import deadlines
from holdfast.stores.postgres.connection.rendering import in_schema
from holdfast.stores.postgres.verbs import start_functions
from holdfast.stores.sql.files import read

LOCK_TIMEOUT: Final = "2s"
"""How long a step waits for a table that is in use. Everybody else waits behind it, so it gives up and comes again."""
TRIES: Final = 15
STEP_SECONDS: Final = 3600.0
"""How long the steps may take together, whatever the address and the role say: a large table may have to be read."""

_COLUMNS: Final = "applied_at,name,number"
_CREATES: Final = re.compile(r"^create (?:table|view) holdfast\.(\w+)", re.MULTILINE)
_RELATIONS: Final = """
    select relname, (select coalesce(string_agg(attname, ',' order by attname), '')
                       from pg_attribute where attrelid = pg_class.oid and attnum > 0 and not attisdropped)
      from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where nspname = %(schema)s and relname = any(%(names)s) and relkind <> 'i'
     order by relname
"""

_APPLIED: Final = "insert into holdfast.migration (number, name) values (%s, %s)"
_NUMBERS: Final = "select number from holdfast.migration"


def steps() -> dict[str, str]:
    """The steps by name, in order. The functions of the second are made from the statements that they run."""
    return {**read("holdfast.stores.postgres.migrations"), "0002_start_functions": start_functions.migration()}


def script(schema: str) -> str:
    """Every step as one script, for those who run their own. Applied again, it changes nothing.

    It runs in the caller's transaction or, without one, each block in its own. The caller's settings stay as they were.
    """
    quoted = f'"{schema}"'
    # `if not exists` would ask for the right to create schemas even where it is there.
    create = f"if not exists (select from pg_namespace where nspname = '{schema}') then create schema {quoted}; end if;"
    parts = [f"-- Holdfast's tables in schema {schema}.", _block(schema, create)]
    for name, text in steps().items():
        number = int(name[:4])
        applied = in_schema(f"{_NUMBERS} where number = {number}", f"{quoted}.")
        body = in_schema(text, f"{quoted}.")
        parts.append(
            _block(
                schema,
                f"if to_regclass('{schema}.migration') is not null then\n"
                f"    missing = not exists ({applied});\n"
                f"end if;\n"
                f"if missing then\n"
                f"execute $step$\n{body}\n$step$;\n"
                f"insert into {quoted}.migration (number, name) values ({number}, '{name}');\n"
                f"end if;",
            )
        )
    return "\n\n".join([*parts, ""])


def _block(schema: str, body: str) -> str:
    """A part of the script that waits for nothing longer than LOCK_TIMEOUT, and leaves the setting as it was.

    Local to the transaction, so that a failure gives it back, too; and given back by hand, since more may follow there.
    """
    return (
        f"do $holdfast$ declare\n"
        f"missing boolean = true;\n"
        f"patience text = current_setting('lock_timeout');\n"
        f"begin\n"
        f"perform set_config('lock_timeout', '{LOCK_TIMEOUT}', true);\n"
        f"perform pg_advisory_xact_lock({_lock(schema)});\n"
        f"{body}\n"
        f"perform set_config('lock_timeout', patience, true);\n"
        f"end $holdfast$;"
    )


def migrate(connection: psycopg.Connection, schema: str, *, deadline: float) -> list[str]:
    """Apply the steps that are missing, on a connection in autocommit; answers their names.

    The steps have STEP_SECONDS, and so has the wait for somebody who is migrating the schema just now; everything else
    has this many. What a server did that fell silent is undone.
    """
    for attempt in range(1, TRIES + 1):
        try:
            with deadlines.within(connection.pgconn.socket, deadline):
                return _apply(connection, schema, deadline)
        except psycopg.errors.LockNotAvailable:
            # Its transaction is over, so the connection can be used again.
            if attempt == TRIES:
                raise
            time.sleep(0.2)
    raise AssertionError("unreachable")


def _apply(connection: psycopg.Connection, schema: str, deadline: float) -> list[str]:
    """All missing steps in one transaction: a step that fails leaves nothing behind."""
    descriptor = connection.pgconn.socket
    quoted = f'"{schema}"'
    applied: list[str] = []
    with connection.transaction():
        connection.execute(f"set local statement_timeout = {round(STEP_SECONDS * 1000)}".encode())
        with _longer(descriptor, deadline):
            # Nobody but those who migrate waits behind this lock, so there is no need to come again.
            connection.execute("set local lock_timeout = 0")
            connection.execute("select pg_advisory_xact_lock(%s)", [_lock(schema)])
        connection.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'".encode())
        found = connection.execute("select 1 from pg_namespace where nspname = %s", [schema]).fetchone()
        if found is None:
            connection.execute(f"create schema {quoted}".encode())
        _refuse_foreign(connection, schema)
        done = _done(connection, schema)
        with _longer(descriptor, deadline):
            for name, text in steps().items():
                if int(name[:4]) not in done:
                    connection.execute(in_schema(text, f"{quoted}.").encode(), prepare=False)
                    connection.execute(in_schema(_APPLIED, f"{quoted}.").encode(), [int(name[:4]), name])
                    applied.append(name)
    return applied


@contextmanager
def _longer(descriptor: int, deadline: float) -> Generator[None]:
    """Within a deadline, the block has STEP_SECONDS instead, and what follows it the deadline again."""
    try:
        with deadlines.within(descriptor, STEP_SECONDS):
            yield
    finally:
        deadlines.watch(descriptor, deadline)


def _refuse_foreign(connection: psycopg.Connection, schema: str) -> None:
    """ValueError where the schema has a table or view that bears the name of one of ours, and is another's."""
    tables = connection.execute(_RELATIONS, {"schema": schema, "names": sorted(_names())}).fetchall()
    if {_COLUMNS} <= {columns for name, columns in tables if name == "migration"}:
        return
    if tables:
        raise ValueError(
            f"schema {schema!r} already has tables of another application ({', '.join(name for name, _ in tables)}); "
            "nothing was changed. Use another schema= in the address"
        )


def _names() -> set[str]:
    """The tables and views that the steps create."""
    return {name for text in steps().values() for name in _CREATES.findall(text)}


def _done(connection: psycopg.Connection, schema: str) -> set[int]:
    exists = connection.execute("select to_regclass(%s)", [f'"{schema}".migration']).fetchone()
    if exists is None or exists[0] is None:
        return set()
    return {row[0] for row in connection.execute(in_schema(_NUMBERS, f'"{schema}".').encode())}


def _lock(schema: str) -> int:
    """A number for the advisory lock, the same for everyone who migrates this schema."""
    return int.from_bytes(hashlib.sha256(f"holdfast:{schema}".encode()).digest()[:8], signed=True)
