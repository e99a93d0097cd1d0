"""Drivers that are installed with an extra, and the error if one is missing."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from holdfast.errors import MissingExtra

_EXTRAS = {
    "psycopg": ("PostgreSQL", "postgres"),
    "hiredis": ("Redis", "redis"),
    "nkeys": ("the login to NATS by a key", "nats"),
}
"""Package to what needs it and the extra that installs it."""


@contextmanager
def needing_extra(module: str) -> Generator[None]:
    """Wrap the import of a store. If its driver is missing, MissingExtra names the extra to install."""
    try:
        yield
    except ImportError as error:
        # If psycopg is installed without libpq, its ImportError has no name.
        missing = (error.name or "").partition(".")[0] or ("psycopg" if module.endswith("postgres") else "")
        if missing not in _EXTRAS:
            raise
        raise MissingExtra(*_EXTRAS[missing]) from error
