"""Reads `holdfast.toml` for commands. An invalid file is a Mistake in one line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.cli.exit_codes import Mistake
from holdfast.config import FILE, ConfigError, FileSettings, read_settings

__all__ = ["FILE", "Config", "read_config"]


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of a file. Without a file, all are unset."""

    path: Path | None = None
    store: str | None = None
    wakeups: str | None = None
    app: str | None = None
    settings: FileSettings = field(default_factory=FileSettings, compare=False, repr=False)
    """All settings, for commands that need more than the addresses."""


def read_config(path: Path | None, environment: Mapping[str, str] = os.environ) -> Config:
    """The file at `path`, which must exist; without a path, `holdfast.toml` of the working directory if it exists."""
    try:
        settings = read_settings(path, environment)
    except ConfigError as error:
        raise Mistake(str(error)) from error
    return Config(settings.path, settings.store, settings.wakeups, settings.app, settings)
