"""System checks: what is wrong with the settings, before the first job is started."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Any

from django.apps import AppConfig
from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connections

from holdfast.contrib.django.configuration import Configuration, configuration
from holdfast.contrib.django.schema import is_installed
from holdfast.stores.address import open_store


def register() -> None:
    """Register the checks. A second call changes nothing."""
    checks.register(check_settings, "holdfast")
    checks.register(check_tables, checks.Tags.database)


def check_settings(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[checks.CheckMessage]:
    """Check the setting `HOLDFAST`, the address of the store and the options of the database."""
    try:
        configured = configuration()
    except ImproperlyConfigured as error:
        return [checks.Error(str(error), id="holdfast.E001")]
    found: list[checks.CheckMessage] = []
    if configured.store is not None:
        try:
            open_store(configured.store)
        except (ValueError, ImportError) as error:
            found.append(checks.Error(f"HOLDFAST['STORE']: {error}", id="holdfast.E002"))
    else:
        found += _check_driver(configured)
    return found


def check_tables(
    app_configs: Sequence[AppConfig] | None, databases: Iterable[str] | None = None, **_: Any
) -> list[checks.CheckMessage]:
    """Whether the tables exist. Django runs this check with `check --database`, not at each start."""
    try:
        configured = configuration()
    except ImproperlyConfigured:
        return []
    if configured.database is None or configured.database not in (databases or ()) or sys.argv[1:2] == ["migrate"]:
        return []  # `migrate` is about to create them
    try:
        present = is_installed(connections[configured.database], configured.schema)
    except DatabaseError:
        return []  # Django reports a database that cannot be reached
    if present:
        return []
    return [
        checks.Warning(
            f"database {configured.database!r} has no tables of Holdfast",
            hint="Run `manage.py migrate`.",
            id="holdfast.W002",
        )
    ]


def _check_driver(configured: Configuration) -> list[checks.CheckMessage]:
    assert configured.database is not None
    wrapper = connections[configured.database]
    found: list[checks.CheckMessage] = []
    if wrapper.vendor == "postgresql" and find_spec("psycopg") is None:
        found.append(
            checks.Error(
                "jobs in PostgreSQL need psycopg 3",
                hint="Install Holdfast with its extra [postgres].",
                id="holdfast.E003",
            )
        )
    if not wrapper.settings_dict.get("AUTOCOMMIT", True):
        found.append(
            checks.Warning(
                f"database {configured.database!r} has AUTOCOMMIT = False: jobs that are started outside atomic() are "
                "committed with your next commit",
                id="holdfast.W001",
            )
        )
    if wrapper.settings_dict["OPTIONS"].get("pool") and not wrapper.settings_dict["CONN_HEALTH_CHECKS"]:
        found.append(
            checks.Warning(
                f"database {configured.database!r} has a pool whose connections are not checked: after a restart of "
                "the server, jobs may fail once per connection of the pool",
                hint="Set CONN_HEALTH_CHECKS to True.",
                id="holdfast.W003",
            )
        )
    return found
