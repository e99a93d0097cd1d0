"""The setting `HOLDFAST` of a Django project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

KEYS = ("DATABASE", "STORE", "SCHEMA", "MODULE", "NAME", "INLINE_WORKER")
DEFAULT_SCHEMA = "holdfast"
VENDORS = ("postgresql", "sqlite")


@dataclass(frozen=True, slots=True)
class Configuration:
    """The checked setting. Either `database` or `store` is set."""

    database: str | None = "default"
    """An alias of `DATABASES`: jobs are rows of this database, and starts join its open transaction."""
    store: str | None = None
    """The address of a store."""
    schema: str = DEFAULT_SCHEMA
    """The schema of the tables on PostgreSQL, with `database`."""
    module: str = "holdfast_jobs"
    """The module that is imported from each app."""
    name: str = "default"
    """The name of the registry."""
    inline_worker: bool = False
    """Whether `runserver` runs a worker."""


def configuration() -> Configuration:
    """Read the setting. ImproperlyConfigured says what is wrong with it."""
    given: Any = getattr(settings, "HOLDFAST", {})
    if not isinstance(given, dict):
        raise ImproperlyConfigured(f"HOLDFAST is a dict, such as {{'DATABASE': 'default'}}, not {given!r:.60}")
    values = cast("dict[str, Any]", given)
    if unknown := sorted(set(values) - set(KEYS)):
        raise ImproperlyConfigured(f"HOLDFAST has unknown keys: {', '.join(unknown)}. There are {', '.join(KEYS)}")
    if "DATABASE" in values and "STORE" in values:
        raise ImproperlyConfigured("HOLDFAST has DATABASE and STORE: give either an alias or an address")
    for key in KEYS[:-1]:
        if key in values and (not isinstance(values[key], str) or not values[key]):
            raise ImproperlyConfigured(f"HOLDFAST['{key}'] is a text, not {type(values[key]).__name__}")
    if "SCHEMA" in values and "STORE" in values:
        raise ImproperlyConfigured("HOLDFAST['SCHEMA'] belongs to DATABASE: in an address write ?schema=NAME")
    made = Configuration(
        database=None if "STORE" in values else values.get("DATABASE", "default"),
        store=values.get("STORE"),
        schema=values.get("SCHEMA", DEFAULT_SCHEMA),
        module=values.get("MODULE", "holdfast_jobs"),
        name=values.get("NAME", "default"),
        inline_worker=bool(values.get("INLINE_WORKER", False)),
    )
    _check_database(made)
    return made


def vendor(alias: str) -> str:
    """The kind of a database, without connecting to it."""
    from django.db import connections

    return connections[alias].vendor


def _check_database(made: Configuration) -> None:
    if made.database is None:
        return
    databases: dict[str, Any] = settings.DATABASES
    if made.database not in databases:
        known = ", ".join(databases) or "none"
        raise ImproperlyConfigured(f"HOLDFAST['DATABASE'] is {made.database!r}; DATABASES has: {known}")
    if (found := vendor(made.database)) not in VENDORS:
        raise ImproperlyConfigured(
            f"HOLDFAST['DATABASE'] is {made.database!r}, a database of the kind {found!r}. Jobs can be in "
            "PostgreSQL or SQLite; for others give HOLDFAST['STORE'] an address"
        )
