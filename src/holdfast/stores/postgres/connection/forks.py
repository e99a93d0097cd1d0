"""Stores in a forked child. A session belongs to the process that opened it: two that talk over one socket read each
other's answers, and closing a connection ends the session for both."""

from __future__ import annotations

import os
from typing import Any, Protocol
from weakref import WeakSet


class Forgetful(Protocol):
    """What a child does with a store of its parent's."""

    def forget_parent(self) -> None:
        """Put everything that leads to the parent's sessions aside."""
        ...


_stores: WeakSet[Forgetful] = WeakSet()
_inherited: list[Any] = []
"""What belongs to the parent is kept: were it collected, it would say good-bye to the server in the parent's name."""


def forget_in_children(store: Forgetful) -> None:
    """Have the store begin anew in every child that this process forks from now on."""
    _stores.add(store)


def _forget() -> None:
    for store in list(_stores):
        _inherited.append(dict(vars(store)))
        store.forget_parent()


os.register_at_fork(after_in_child=_forget)
