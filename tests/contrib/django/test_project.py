"""A Django project on each kind of database: its own tests and its migrations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast import SyncClient
from tests.contrib.django.projects import PROJECT, Project
from tests.contrib.django.selection import BOTH, SELECTED
from tests.migrations.catalogue import catalogue
from tests.servers.postgres import shared_postgres
from tests.servers.postgres_schemas import new_database

MakeProject = Callable[[Path], Project]


@pytest.mark.parametrize("make", BOTH)
def test_the_tests_of_the_project_pass(make: MakeProject, tmp_path: Path) -> None:
    assert "OK" in make(tmp_path).manage("test", "--pythonpath", str(PROJECT), "shop")


@pytest.mark.parametrize("make", BOTH)
def test_migrations_make_the_schema_of_the_library(make: MakeProject, tmp_path: Path) -> None:
    project = make(tmp_path)

    project.manage("migrate", "-v", "0")

    assert catalogue(project.address) == catalogue(made_by_the_library(project, tmp_path))
    with SyncClient(project.address) as client:
        assert client.store.migrate_sync() == []


@pytest.mark.parametrize("make", SELECTED)
def test_migrations_change_nothing_that_the_library_made(make: MakeProject, tmp_path: Path) -> None:
    project = make(tmp_path)
    ours = made_by_the_library(project, tmp_path)
    with SyncClient(project.address, migrate=True) as client:
        client.pause("kept")

    project.manage("migrate", "-v", "0")

    assert catalogue(project.address) == catalogue(ours)
    with SyncClient(project.address) as client:
        assert client.stats().types["kept"].paused
    assert "No changes detected" in project.manage("makemigrations", "--check")
    assert "create table" in project.manage("sqlmigrate", "holdfast", "0001")
    project.manage("migrate", "-v", "0", "holdfast", "zero")
    assert not catalogue(project.address)


def made_by_the_library(project: Project, folder: Path) -> str:
    """The address of another store, whose schema `holdfast migrate` made."""
    sqlite = project.address.startswith("sqlite")
    address = f"sqlite:///{folder / 'ours.sqlite3'}" if sqlite else new_database(shared_postgres())
    with SyncClient(address, migrate=True):
        return address
