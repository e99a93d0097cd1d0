"""Connections of Django around a plain handler: broken and old ones are closed."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from django.db import close_old_connections, connections


@contextmanager
def checked_connections() -> Generator[None]:
    """Close connections that are broken or too old, before and after a handler."""
    close_old_connections()
    _close_unusable()
    try:
        yield
    finally:
        close_old_connections()


def _close_unusable() -> None:
    """Check the open connections of this thread, also those without an error.

    Each thread has its own. Without this check, a job could fail once in each thread after a restart of the server.
    """
    for wrapper in connections.all(initialized_only=True):
        if wrapper.connection is not None and not wrapper.in_atomic_block and not wrapper.is_usable():
            wrapper.close()
