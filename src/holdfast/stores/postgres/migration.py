"""Updates the schema: numbered migrations, each applied once, by one process at a time."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Container, Generator
from contextlib import contextmanager, suppress
from typing import Final

import psycopg

from holdfast.stores.postgres.connection.deadlines import deadlines
from holdfast.stores.postgres.connection.rendering import in_schema
from holdfast.stores.postgres.verbs import start_only_functions
from holdfast.stores.sql.files import read

LOCK_TIMEOUT: Final = "2s"
"""How long a migration waits for a table lock. Other sessions wait behind it, so it gives up and tries again."""
TRIES: Final = 15
MIGRATION_SECONDS: Final = 3600.0
"""How long all migrations may take. It replaces the timeouts of the address and the role: large tables take long."""

_WITHOUT_LOCKS: Final = "undefined_function or feature_not_supported or insufficient_privilege"
_NO_LOCKS: Final = (
    psycopg.errors.UndefinedFunction,
    psycopg.errors.FeatureNotSupported,
    psycopg.errors.InsufficientPrivilege,
)
"""Errors of a server without advisory locks, such as some distributed databases."""
_OVERTAKEN: Final = (
    psycopg.errors.UniqueViolation,
    psycopg.errors.DuplicateSchema,
    psycopg.errors.DuplicateTable,
    psycopg.errors.DuplicateObject,
    psycopg.errors.DuplicateFunction,
    psycopg.errors.SerializationFailure,
)
"""Errors that occur if two processes migrate a schema at the same time, which is possible without advisory locks."""

_FIRST: Final = "0001_jobs"
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


def migrations() -> dict[str, str]:
    """The migrations by name, in order. The first one also creates functions, from the statements that they run."""
    found = read("holdfast.stores.postgres.migrations")
    return {**found, _FIRST: f"{found[_FIRST]}\n{start_only_functions.migration()}"}


def script(schema: str) -> str:
    """All migrations as one script, for applications with their own migration tool. A second run changes nothing.

    It runs in the transaction of the caller. Without one, each block is a transaction. Settings are restored.
    """
    return "\n\n".join([f"-- Holdfast's tables in schema {schema}.", *script_parts(schema), ""])


def script_parts(schema: str) -> list[str]:
    """The statements of the script."""
    return [block for each in blocks(schema).values() for block in each]


def blocks(schema: str) -> dict[str, list[str]]:
    """The statements of each migration, by its name. A second run of a statement changes nothing."""
    quoted = f'"{schema}"'
    # `create schema if not exists` needs the right to create schemas even if the schema exists.
    create = f"if not exists (select from pg_namespace where nspname = '{schema}') then create schema {quoted}; end if;"
    made: dict[str, list[str]] = {}
    for name, text in migrations().items():
        number = int(name[:4])
        applied = in_schema(f"{_NUMBERS} where number = {number}", f"{quoted}.")
        body = in_schema(text, f"{quoted}.")
        made[name] = [
            *([] if made else [_block(schema, create)]),
            _block(
                schema,
                f"if to_regclass('{schema}.migration') is not null then\n"
                f"    missing = not exists ({applied});\n"
                f"end if;\n"
                f"if missing then\n"
                f"execute $migration$\n{body}\n$migration$;\n"
                f"insert into {quoted}.migration (number, name) values ({number}, '{name}');\n"
                f"end if;",
            ),
        ]
    return made


def _block(schema: str, body: str) -> str:
    """A block of the script that waits for locks at most LOCK_TIMEOUT, and restores the setting.

    The setting is local to the transaction, so a failure restores it. The last line restores it for statements that
    follow in the same transaction.
    """
    return (
        f"do $holdfast$ declare\n"
        f"missing boolean = true;\n"
        f"previous_timeout text = current_setting('lock_timeout');\n"
        f"begin\n"
        f"perform set_config('lock_timeout', '{LOCK_TIMEOUT}', true);\n"
        f"begin perform pg_advisory_xact_lock({_lock(schema)});\n"
        f"exception when {_WITHOUT_LOCKS} then null; end;\n"
        f"{body}\n"
        f"perform set_config('lock_timeout', previous_timeout, true);\n"
        f"end $holdfast$;"
    )


def migrate(connection: psycopg.Connection, schema: str, *, deadline: float) -> list[str]:
    """Apply the missing migrations on a connection in autocommit mode, and return their names.

    The migrations have MIGRATION_SECONDS, and so has the wait for another process that migrates the schema. Everything
    else has `deadline` seconds. If the server stops answering, it rolls back. On a server without advisory locks, a
    migration that another process overtakes fails, and the next try finds the schema up to date.
    """
    for attempt in range(1, TRIES + 1):
        try:
            with deadlines.within(connection.pgconn.socket, deadline):
                return _apply(connection, schema, deadline)
        except (psycopg.errors.LockNotAvailable, *_OVERTAKEN):
            # The transaction was rolled back, so the connection can be used again.
            if attempt == TRIES:
                raise
            time.sleep(0.2)
    raise AssertionError("unreachable")


def pending(connection: psycopg.Connection, schema: str) -> list[str]:
    """The names of the migrations that are not applied yet."""
    _refuse_foreign(connection, schema)
    done = _done(connection, schema)
    return [name for name in migrations() if int(name[:4]) not in done]


def _apply(connection: psycopg.Connection, schema: str, deadline: float) -> list[str]:
    """Apply all missing migrations in one transaction: if one fails, nothing is changed."""
    descriptor = connection.pgconn.socket
    with connection.transaction():
        connection.execute(f"set local statement_timeout = {round(MIGRATION_SECONDS * 1000)}".encode())
        with _longer(descriptor, deadline):
            # Only other migrations wait for this lock, so it needs no timeout.
            connection.execute("set local lock_timeout = 0")
            _take_lock(connection, schema)
        connection.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'".encode())
        found = connection.execute("select 1 from pg_namespace where nspname = %s", [schema]).fetchone()
        if found is None:
            connection.execute(f'create schema "{schema}"'.encode())
        _refuse_foreign(connection, schema)
        done = _done(connection, schema)
        with _longer(descriptor, deadline):
            return _apply_missing(connection, schema, done)


def _apply_missing(connection: psycopg.Connection, schema: str, done: Container[int]) -> list[str]:
    missing = {name: text for name, text in migrations().items() if int(name[:4]) not in done}
    for name, text in missing.items():
        connection.execute(in_schema(text, f'"{schema}".').encode(), prepare=False)
        connection.execute(in_schema(_APPLIED, f'"{schema}".').encode(), [int(name[:4]), name])
    return list(missing)


def _take_lock(connection: psycopg.Connection, schema: str) -> None:
    """Lock out other migrations of this schema, if the server has advisory locks."""
    with suppress(*_NO_LOCKS), connection.transaction():
        connection.execute("select pg_advisory_xact_lock(%s)", [_lock(schema)])


@contextmanager
def _longer(descriptor: int, deadline: float) -> Generator[None]:
    """Replace the deadline by MIGRATION_SECONDS inside the block, and start the deadline again after it."""
    try:
        with deadlines.within(descriptor, MIGRATION_SECONDS):
            yield
    finally:
        deadlines.watch(descriptor, deadline)


def _refuse_foreign(connection: psycopg.Connection, schema: str) -> None:
    """Raises ValueError if the schema has a table or view of another application with the name of one of ours."""
    tables = connection.execute(_RELATIONS, {"schema": schema, "names": sorted(_names())}).fetchall()
    if {_COLUMNS} <= {columns for name, columns in tables if name == "migration"}:
        return
    if tables:
        raise ValueError(
            f"schema {schema!r} already has tables of another application ({', '.join(name for name, _ in tables)}); "
            "nothing was changed. Use another schema= in the address"
        )


def _names() -> set[str]:
    """The tables and views that the migrations create."""
    return {name for text in migrations().values() for name in _CREATES.findall(text)}


def _done(connection: psycopg.Connection, schema: str) -> set[int]:
    exists = connection.execute("select to_regclass(%s)", [f'"{schema}".migration']).fetchone()
    if exists is None or exists[0] is None:
        return set()
    return {row[0] for row in connection.execute(in_schema(_NUMBERS, f'"{schema}".').encode())}


def _lock(schema: str) -> int:
    """The number of the advisory lock: the same in every process that migrates this schema."""
    return int.from_bytes(hashlib.sha256(f"holdfast:{schema}".encode()).digest()[:8], signed=True)
