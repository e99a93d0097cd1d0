"""Drivers that are installed with an extra, and what to say where one is missing."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from holdfast.errors import MissingExtra

_EXTRAS = {"psycopg": ("PostgreSQL", "postgres"), "hiredis": ("Redis", "redis")}
"""A driver to what needs it and the extra that brings it."""


@contextmanager
def needing_extra(module: str) -> Generator[None]:
    """Import a module of ours in here: where its driver is missing, MissingExtra says how to get it."""
    try:
        yield
    except ImportError as error:
        # psycopg without its C library is there, and cannot be imported: that is an ImportError of no name.
        missing = (error.name or "").partition(".")[0] or ("psycopg" if module.endswith("postgres") else "")
        if missing not in _EXTRAS:
            raise
        raise MissingExtra(*_EXTRAS[missing]) from error
