"""A Django project on each kind of database: its own tests, its migrations, its commands and its workers."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from holdfast import SyncClient
from tests.contrib.django.projects import PROJECT, Project, new_database, postgres_project, sqlite_project
from tests.servers.postgres import shared_postgres


@pytest.fixture(params=[sqlite_project, pytest.param(postgres_project, marks=pytest.mark.postgres)])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Project:
    make: Callable[[Path], Project] = request.param
    return make(tmp_path)


def test_the_tests_of_the_project_pass(project: Project) -> None:
    assert "OK" in project.manage("test", "--pythonpath", str(PROJECT), "shop")


def test_migrations_make_the_schema_of_the_library(project: Project, tmp_path: Path) -> None:
    made_by_us = tmp_path / "ours.sqlite3"
    sqlite = project.address.startswith("sqlite")
    if not sqlite and not os.environ.get("HOLDFAST_DJANGO"):
        pytest.skip("`make django` runs this on PostgreSQL: it starts many processes")
    ours = f"sqlite:///{made_by_us}" if sqlite else new_database(shared_postgres())

    assert "No changes detected" in project.manage("makemigrations", "--check")
    project.manage("migrate", "-v", "0")
    with SyncClient(ours, migrate=True):
        pass
    assert schema(project.address) == schema(ours)
    # In the other order: on a store that `holdfast migrate` made, the migrations change nothing.
    with SyncClient(project.address, migrate=True) as client:
        assert client.store.migrate_sync() == []
    project.manage("migrate", "-v", "0", "holdfast", "zero")
    assert not schema(project.address)
    with SyncClient(project.address, migrate=True) as client:
        client.pause("kept")
    project.manage("migrate", "-v", "0")
    assert schema(project.address) == schema(ours)
    assert "pay" in project.run("from shop.holdfast_jobs import pay; print(pay.name)")
    assert "No changes detected" in project.manage("makemigrations", "--check")
    assert "nothing to do" in project.manage("holdfast", "migrate") or sqlite
    assert "create table" in project.manage("sqlmigrate", "holdfast", "0001")


def schema(address: str) -> list[tuple[Any, ...]]:
    """Every table, column, index, function and trigger of the store."""
    if address.startswith("sqlite"):
        with closing(sqlite3.connect(address.removeprefix("sqlite:///"))) as connection:
            return connection.execute(
                "select type, name, sql from sqlite_master where name like 'holdfast\\_%' escape '\\' order by 1, 2"
            ).fetchall()
    with psycopg.connect(address) as connection:
        columns = connection.execute(
            "select 'column', table_name, column_name, data_type, is_nullable, column_default, collation_name "
            "from information_schema.columns where table_schema = 'holdfast' order by 2, ordinal_position"
        ).fetchall()
        others = connection.execute(
            "select 'index', indexname, indexdef from pg_indexes where schemaname = 'holdfast' union all "
            "select 'function', proname, pg_get_functiondef(pg_proc.oid) from pg_proc "
            "where pronamespace = to_regnamespace('holdfast') union all "
            "select 'options', relname, reloptions::text from pg_class "
            "where relnamespace = to_regnamespace('holdfast') "
            "union all select 'migration', number::text, name from holdfast.migration "
            "order by 1, 2, 3"
            if columns
            else "select 1 where false"
        ).fetchall()
    return [*columns, *others]
