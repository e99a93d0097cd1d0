"""Stores in a forked child process.

A session belongs to the process that opened it. If two processes use one socket, each reads answers of the other, and
closing the connection in one process ends the session for both.
"""

from __future__ import annotations

import os
from typing import Any, Protocol
from weakref import WeakSet


class ForkedStore(Protocol):
    """A store that a child process inherits."""

    def forget_parent(self) -> None:
        """Replace everything that refers to the sessions of the parent."""
        ...


_stores: WeakSet[ForkedStore] = WeakSet()
_inherited: list[Any] = []
"""Keeps references to the parent's connections: garbage collection would send Terminate on the parent's sockets."""


def forget_in_children(store: ForkedStore) -> None:
    """Call `forget_parent` of the store in every child that this process forks from now on."""
    _stores.add(store)


def _forget() -> None:
    for store in list(_stores):
        _inherited.append(dict(vars(store)))
        store.forget_parent()


os.register_at_fork(after_in_child=_forget)
