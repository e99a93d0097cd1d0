"""The store, wake-ups and application of a command: from the command line, else the environment, else the file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from holdfast.cli.config_file import FILE, Config, read_config
from holdfast.cli.exit_codes import Mistake
from holdfast.cli.passwords import passwords_in
from holdfast.config.wakeups import brings_its_own, joined, named_in

NOWHERE = "nowhere"


@dataclass(frozen=True, slots=True)
class Host:
    """The store and the application of a program that contains the command line, such as Django's `manage.py`."""

    store: str
    app: str
    source: str
    """Where store and application are set, for messages."""


@dataclass(frozen=True, slots=True)
class Flags:
    """The options of every command, as given before or after its name."""

    store: str | None = None
    app: str | None = None
    config: Path | None = None
    json: bool = False
    host: Host | None = None

    def over(self, outer: Flags) -> Flags:
        """These options, completed by those given before the name of the command."""
        return Flags(
            store=outer.store if self.store is None else self.store,
            app=outer.app if self.app is None else self.app,
            config=outer.config if self.config is None else self.config,
            json=self.json or outer.json,
            host=self.host or outer.host,
        )


@dataclass(frozen=True, slots=True)
class CommandSettings:
    """The store, its wake-ups and the application, each with its source."""

    config: Config
    store: str | None
    store_from: str
    wakeups: str | None
    """Wake-ups that are set apart from the store; None if its address names them, or the store has its own."""
    wakeups_from: str
    app: str | None
    app_from: str

    def need_store(self) -> str:
        """The store's address, with its wake-ups."""
        if not self.store:
            raise Mistake(
                f'which store? Give --store sqlite:///jobs.db, set HOLDFAST_STORE, or write store = "..." in {FILE}'
            )
        return joined(self.store, self.wakeups)

    def need_app(self) -> str:
        """The application, as MODULE:JOBS."""
        if not self.app:
            raise Mistake(f'which job types? Give --app MODULE:JOBS, set HOLDFAST_APP, or write app = "..." in {FILE}')
        return self.app

    @property
    def app_named(self) -> str:
        """The application with its source, for error texts: `--app 'shop:jobs'`, `app of holdfast.toml 'x'`."""
        by = self.app_from if self.app_from in ("--app", "HOLDFAST_APP") else f"app of {self.app_from}"
        return f"{by} {self.app!r}"

    @property
    def passwords(self) -> list[str]:
        """Passwords in the addresses, to be masked in every text."""
        return passwords_in(joined(self.store, self.wakeups)) if self.store else []


def resolve(flags: Flags, environment: Mapping[str, str] = os.environ) -> CommandSettings:
    """Find the settings of a command. An invalid file is a Mistake, also if the command needs nothing from it.

    Each setting is looked up on its own: a store from the environment uses the wake-ups of the file. A store that has
    its own wake-ups, or whose address names some, uses no others.
    """
    config = read_config(flags.config, environment)
    store, store_from = _first(
        (flags.store, "--store"),
        *([] if flags.host is None else [(flags.host.store, flags.host.source)]),
        (environment.get("HOLDFAST_STORE"), "HOLDFAST_STORE"),
        (config.store, str(config.path)),
    )
    wakeups, wakeups_from = _first(
        (environment.get("HOLDFAST_WAKEUPS"), "HOLDFAST_WAKEUPS"), (config.wakeups, str(config.path))
    )
    if store is not None and (brings_its_own(store) or named_in(store)):
        wakeups = None
    app, app_from = _first(
        (flags.app, "--app"),
        *([] if flags.host is None else [(flags.host.app, flags.host.source)]),
        (environment.get("HOLDFAST_APP"), "HOLDFAST_APP"),
        (config.app, str(config.path)),
    )
    return CommandSettings(config, store, store_from, wakeups, wakeups_from, app, app_from)


def _first(*sources: tuple[str | None, str]) -> tuple[str | None, str]:
    return next(((value, source) for value, source in sources if value), (None, NOWHERE))
