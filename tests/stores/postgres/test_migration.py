"""Migrations: applied once, by the store or by a script, in one or several schemas."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import psycopg
import pytest
import sqlalchemy
from django.db import connections
from django.db import migrations as django_migrations
from django.db.migrations.state import ProjectState
from typer.testing import CliRunner

from holdfast.cli.app import app
from holdfast.engine.operations import ClaimJobs, Filter, GetChains, ListJobs, Settle, Start, TypeTerms
from holdfast.errors import StoreUnavailable
from holdfast.stores.address import open_store
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres import migration as migration_module
from holdfast.stores.postgres.migration import migrations, script
from holdfast.testing.builders import completed, new_job
from tests.servers.postgres import Postgres
from tests.stores.postgres.app_connections import configure_django

TERMS = (TypeTerms("resize", 60_000_000, 25),)


@pytest.fixture
def schema() -> str:
    return f"h{uuid4().hex[:12]}"


def test_the_error_for_missing_tables_says_how_to_create_them(server: Postgres, schema: str) -> None:
    store = PostgresStore(server.address(schema=schema))

    with pytest.raises(StoreUnavailable, match=r"holdfast migrate.*migrate=True"):
        store.perform_sync(Start((new_job(),)))

    assert store.migrate_sync() == list(migrations())
    store.perform_sync(Start((new_job(),)))
    store.close_sync()


def test_migrating_again_changes_nothing(server: Postgres, schema: str) -> None:
    store = PostgresStore(server.address(schema=schema))

    assert [store.migrate_sync(), store.migrate_sync()] == [list(migrations()), []]


def test_of_concurrent_migrations_one_is_applied(server: Postgres, schema: str) -> None:
    answers: list[list[str]] = []
    barrier = threading.Barrier(6)

    def migrate() -> None:
        store = PostgresStore(server.address(schema=schema))
        barrier.wait()
        answers.append(store.migrate_sync())

    threads = [threading.Thread(target=migrate) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(answers, key=len) == [[]] * 5 + [list(migrations())]


def test_a_migration_may_take_longer_than_the_deadline_and_the_timeout_of_the_role(
    server: Postgres, schema: str, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.execute("create role hasty superuser login")
    try:
        connection.execute("alter role hasty set statement_timeout = '500ms'")
        store = PostgresStore(server.address(user="hasty", schema=schema, deadline="1"))
        slow = {**migrations(), "9999_slow": "select pg_sleep(2)"}
        monkeypatch.setattr(migration_module, "migrations", lambda: slow)

        assert store.migrate_sync() == list(slow)
    finally:
        connection.execute(f'drop schema if exists "{schema}" cascade'.encode())
        connection.execute("drop role hasty")


def test_a_migration_waits_for_another_migration_longer_than_for_a_table(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration_module, "LOCK_TIMEOUT", "1ms")
    monkeypatch.setattr(migration_module, "TRIES", 1)
    slow = {**migrations(), "9999_slow": "select pg_sleep(1)"}
    monkeypatch.setattr(migration_module, "migrations", lambda: slow)

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(store.migrate_sync) for _ in range(2)]

    assert sorted(migration.result() for migration in both) == [[], ["9999_slow"]]


def test_the_script_creates_the_same_tables_and_may_run_twice(
    server: Postgres, schema: str, connection: psycopg.Connection
) -> None:
    for _ in range(2):
        connection.execute(script(schema).encode())

    store = PostgresStore(server.address(schema=schema))
    assert store.migrate_sync() == []
    store.perform_sync(Start((new_job(),)))
    store.close_sync()


@pytest.mark.parametrize("scope", ["session", "local"])
def test_the_script_restores_the_lock_timeout(schema: str, connection: psycopg.Connection, scope: str) -> None:
    def timeout() -> str:
        (value,) = connection.execute("show lock_timeout").fetchone() or ("nothing",)
        return str(value)

    connection.execute("set lock_timeout = '7s'")
    for block in script(schema).split("\n\ndo ")[1:]:
        connection.execute(f"do {block}".encode())
        assert timeout() == "7s"

    with connection.transaction():
        connection.execute(f"set {scope} lock_timeout = '8s'".encode())
        connection.execute(script(schema).encode())
        assert timeout() == "8s"


def test_a_failed_script_restores_the_lock_timeout(
    schema: str, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = {"9999_broken": "select 1 from nothing"}
    monkeypatch.setattr(migration_module, "migrations", lambda: broken)
    connection.execute("set lock_timeout = '7s'")

    with pytest.raises(psycopg.errors.UndefinedTable):
        connection.execute(script(schema).encode())

    assert connection.execute("show lock_timeout").fetchone() == ("7s",)


def test_schemas_in_one_database_are_independent(server: Postgres, store: PostgresStore, schema: str) -> None:
    other = PostgresStore(server.address(schema=schema))
    other.migrate_sync()

    store.perform_sync(Start((new_job(),)))

    assert other.perform_sync(ListJobs(Filter(), 10)) == []
    assert other.perform_sync(ClaimJobs(TERMS, 10, "worker", "token")) == []
    other.close_sync()


@pytest.mark.parametrize("name", ["Public", 'x"; drop schema public', "1st", "a" * 32, "", "line%0A"])
def test_an_invalid_schema_name_is_rejected(name: str) -> None:
    with pytest.raises(ValueError, match="schema="):
        PostgresStore(f"postgresql://localhost/db?schema={name}")


def test_the_password_is_never_shown() -> None:
    store = open_store("postgres://app:s3cret@db.example:5433/shop?sslmode=require")

    assert store.name == "postgresql://app@db.example:5433/shop"
    assert isinstance(store, PostgresStore)
    assert "s3cret" not in repr(store.address)


def test_the_readable_view_shows_json(store: PostgresStore, connection: psycopg.Connection) -> None:
    store.perform_sync(Start((new_job(input=b'{"width": 200}'), new_job(input=b"\xff\x00"))))
    (job,) = store.perform_sync(ClaimJobs(TERMS, 1, "worker", "token"))
    store.perform_sync(Settle((completed(job, b'{"url": "/200.png", "tags": ["a"]}'),)))

    rows = connection.execute(
        f"""select status, input ->> 'width', output ->> 'url', output -> 'tags' ->> 0, error, created_at <= now()
              from "{store.schema}".readable order by seq""".encode()
    ).fetchall()

    # Bytes that are not JSON are shown as null.
    assert rows == [("completed", "200", "/200.png", "a", None, True), ("pending", None, None, None, None, True)]


def test_the_command_line_migrates_a_schema_of_any_name(server: Postgres, schema: str) -> None:
    address = server.address(schema=schema)

    first, second = (holdfast("migrate", "--store", address, "--json") for _ in range(2))

    assert json.loads(first)["applied"] == list(migrations())
    assert json.loads(second)["applied"] == []


def test_the_command_line_prints_the_script_without_connecting(
    schema: str, server: Postgres, connection: psycopg.Connection
) -> None:
    printed = holdfast("migrate", "--sql", "--store", f"postgresql://app@nowhere.invalid/shop?schema={schema}")

    connection.execute(printed.encode())

    assert PostgresStore(server.address(schema=schema)).migrate_sync() == []


def test_the_script_needs_no_right_to_create_an_existing_schema(
    schema: str, server: Postgres, connection: psycopg.Connection
) -> None:
    role = f"{schema}_role"
    connection.execute(f'create role "{role}"; create schema "{schema}" authorization "{role}"'.encode())

    connection.execute(f'set role "{role}"'.encode())
    connection.execute(script(schema).encode())
    connection.execute(b"reset role")

    assert PostgresStore(server.address(schema=schema)).migrate_sync() == []
    connection.execute(f'drop owned by "{role}" cascade; drop role "{role}"'.encode())


def test_the_script_works_with_sqlalchemy_as_in_alembic(server: Postgres, schema: str) -> None:
    url = f"postgresql+psycopg://postgres@/postgres?host={server.home}&port={server.port}"
    engine = sqlalchemy.create_engine(url)

    with engine.begin() as connection:
        connection.execute(sqlalchemy.text(script(schema)))
    engine.dispose()

    assert PostgresStore(server.address(schema=schema)).migrate_sync() == []


def test_the_script_works_in_a_migration_of_django(server: Postgres, schema: str) -> None:
    configure_django()
    operation = django_migrations.RunSQL(script(schema), django_migrations.RunSQL.noop)

    with connections["default"].schema_editor() as editor:
        operation.database_forwards("shop", editor, ProjectState(), ProjectState())
    connections["default"].close()

    assert PostgresStore(server.address(schema=schema)).migrate_sync() == []


@pytest.mark.parametrize("name", ["information_schema", "pg_catalog", "pg_toast", "pg_temp", "pg_own"])
def test_a_schema_of_postgresql_itself_is_rejected(name: str) -> None:
    with pytest.raises(ValueError, match="belongs to PostgreSQL itself"):
        PostgresStore(f"postgresql://localhost/shop?schema={name}")


@pytest.mark.parametrize(
    "table",
    ["job (id bigint)", "event (name text)", "migration (id bigint, app text)"],
    ids=["job", "event", "migration"],
)
def test_a_schema_with_tables_of_another_application_is_not_changed(
    server: Postgres, schema: str, connection: psycopg.Connection, table: str
) -> None:
    connection.execute(f"create schema {schema}".encode())
    connection.execute(f"create table {schema}.{table}".encode())
    store = PostgresStore(server.address(schema=schema))

    with pytest.raises(ValueError, match=f"tables of another application \\({table.split()[0]}\\).*another schema="):
        store.migrate_sync()
    ended = CliRunner().invoke(app, ["migrate", "--store", server.address(schema=schema)])

    assert ended.exit_code == 2
    assert "tables of another application" in ended.output
    found = connection.execute("select count(*) from pg_tables where schemaname = %s", [schema]).fetchone()
    assert found == (1,)


def test_a_prepared_transaction_is_possible_without_notifications(server: Postgres, store: PostgresStore) -> None:
    silent = PostgresStore(server.address(schema=store.schema, notify="off"))
    job = new_job()

    with psycopg.connect(host=str(server.home), port=server.port, user="postgres", dbname="postgres") as tx:
        xid = tx.xid(1, f"holdfast-{store.schema}", "start")
        tx.tpc_begin(xid)
        silent.join_sync(tx).perform(Start((job,)))
        tx.tpc_prepare()
        tx.tpc_commit()
    silent.close_sync()

    assert store.perform_sync(GetChains((job.id,))) != [None]


def holdfast(*arguments: str) -> str:
    """Run a command, and return its output."""
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout
