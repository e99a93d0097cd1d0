"""Reads `holdfast.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from holdfast.config.checked_table import ENVIRONMENT, Source, Table
from holdfast.config.config_error import ConfigError
from holdfast.config.line_numbers import lines_of
from holdfast.config.listen_address import parse_listen
from holdfast.config.retry_policies import read_retries
from holdfast.config.settings import FILE, FileSettings
from holdfast.config.wakeups import brings_its_own, named_in
from holdfast.config.work_kinds import read_kinds
from holdfast.config.worker_groups import read_groups
from holdfast.stores.sharded.address import write_shards
from holdfast.supervisor import Logging

LEVELS = ("debug", "info", "warning", "error")


def read_settings(path: Path | None = None, environment: Mapping[str, str] = ENVIRONMENT) -> FileSettings:
    """The file at `path`, which must exist; without a path, `holdfast.toml` of the working directory if it exists.

    Unknown keys, wrong types and impossible values raise ConfigError, which names the file, the line and the key.
    """
    if path is None:
        path = Path(FILE)
        if not path.exists():
            return FileSettings()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(path, f"cannot be read: {reason}") from None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(path, str(error)) from None
    return _read(Table(Source(path, lines_of(text), environment), (), document))


def _read(top: Table) -> FileSettings:
    store, app = _read_store(top), top.text("app")
    retries = read_retries(top.table("retry"))
    settings = FileSettings(
        source=top.source,
        store=store,
        wakeups=_read_wakeups(top, store),
        app=app,
        groups=read_groups(top.table("workers"), retries),
        retries=retries,
        work_kinds=read_kinds(top.table("work_kinds"), retries),
        logging=_read_logging(top.table("logging")),
        listen=_read_listen(top.table("health")),
    )
    top.finish()
    return settings


def _read_store(top: Table) -> str | None:
    """The address of the store, or those of its shards, in one text."""
    store, table = top.text("store"), top.table("stores")
    addresses = {name: table.text(name) or "" for name in table.names}
    table.finish()
    if not addresses:
        return store
    if store is not None:
        raise top.error("stores", "names the shards of the store, so it excludes `store`")
    try:
        return write_shards(addresses)
    except ValueError as error:
        raise top.error("stores", str(error)) from None


def _read_wakeups(top: Table, store: str | None) -> str | None:
    """The wake-ups. They may be set without a store, whose address may come from the environment."""
    wakeups = top.text("wakeups")
    if wakeups is not None and store is not None:
        if brings_its_own(store):
            raise top.error(
                "wakeups", f"is for a SQL store; a {store.partition(':')[0]}:// store sends its own wake-ups"
            )
        if named_in(store):
            raise top.error("wakeups", "is given twice: also in the address of the store")
    return wakeups


def _read_logging(table: Table) -> Logging:
    level = table.choice("level", LEVELS, default="info")
    as_json = table.choice("format", ("text", "json"), default="text") == "json"
    table.finish()
    return Logging(level=level, json=as_json)


def _read_listen(table: Table) -> tuple[str, int] | None:
    text = table.text("listen")
    table.finish()
    if text is None:
        return None
    try:
        return parse_listen(text)
    except ValueError as error:
        raise table.error("listen", str(error)) from None
