"""`holdfast.toml`, for commands: what is wrong with it is a mistake in one line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.cli.exit_codes import Mistake
from holdfast.config import FILE, ConfigError, Settings, read_settings

__all__ = ["FILE", "Config", "read_config"]


@dataclass(frozen=True, slots=True)
class Config:
    """What a file says. Where there is no file, it says nothing."""

    path: Path | None = None
    store: str | None = None
    wakeups: str | None = None
    app: str | None = None
    settings: Settings = field(default_factory=Settings, compare=False, repr=False)
    """All of it, for the commands that need more."""


def read_config(path: Path | None, environment: Mapping[str, str] = os.environ) -> Config:
    """The file at `path`, which must exist; without a path, `holdfast.toml` of the working directory if it is there."""
    try:
        settings = read_settings(path, environment)
    except ConfigError as error:
        raise Mistake(str(error)) from error
    return Config(settings.path, settings.store, settings.wakeups, settings.app, settings)
