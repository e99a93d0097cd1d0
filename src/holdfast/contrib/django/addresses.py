"""The address of the store for processes with their own connections: workers and the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from django.core.exceptions import ImproperlyConfigured
from django.db import connections

from holdfast.contrib.django.configuration import DEFAULT_SCHEMA, Configuration

_IN_PATH = ("dbname", "user", "password")


def store_address(configured: Configuration) -> str:
    """The address of the store. It may contain the password of the database."""
    if configured.database is None:
        assert configured.store is not None
        return configured.store
    wrapper: Any = connections[configured.database]
    if wrapper.vendor == "sqlite":
        return _sqlite(str(wrapper.settings_dict["NAME"]), configured.database)
    return postgres_address(wrapper, configured.schema)


def _sqlite(name: str, alias: str) -> str:
    if name == ":memory:" or "mode=memory" in name:
        raise ImproperlyConfigured(
            f"database {alias!r} is in memory: no other process could read its jobs. Use a file, or in tests "
            "holdfast.contrib.django.testing.drain()"
        )
    path = name.removeprefix("file:").partition("?")[0] if name.startswith("file:") else name
    return f"sqlite:///{quote(str(Path(path).absolute()))}"


def postgres_address(wrapper: Any, schema: str) -> str:
    """The address of the database of this connection."""
    from psycopg.pq import Conninfo

    known = {option.keyword.decode() for option in Conninfo.get_defaults()}
    given = {name: str(value) for name, value in wrapper.get_connection_params().items() if name in known and value}
    # Django sets its own encoding and time zone; the store sets what it needs.
    given.pop("client_encoding", None)
    user, password, database = (given.get(name, "") for name in ("user", "password", "dbname"))
    login = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
    query = {name: value for name, value in given.items() if name not in _IN_PATH}
    if schema != DEFAULT_SCHEMA:
        query["schema"] = schema
    options = f"?{urlencode(query, quote_via=quote)}" if query else ""
    return f"postgresql://{login}{'@' if login else ''}/{quote(database, safe='')}{options}"
