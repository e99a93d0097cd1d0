"""What the drivers for connections of Django share."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.db import transaction

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper


class DjangoDriver:
    """Django has a commit hook inside `atomic`."""

    def __init__(self, wrapper: BaseDatabaseWrapper) -> None:
        self._wrapper = wrapper

    def after_commit(self, send: Callable[[], None], /) -> bool:
        if not self._wrapper.in_atomic_block:
            return False  # Django has no hook for a transaction that the application manages itself
        transaction.on_commit(send, using=self._wrapper.alias, robust=True)
        return True

    def is_open(self) -> bool:
        # Outside of `atomic` Django does not know whether a transaction is open.
        return self._wrapper.connection is not None

    @contextmanager
    def unlogged(self) -> Generator[Any]:
        """A cursor without Django's log: the parameters are tokens and payloads."""
        with self._wrapper.cursor() as logged:
            yield self._wrapper.make_cursor(logged.cursor)
