"""The wake-ups of a store: those in its address, those that are set apart from it, or its own."""

from __future__ import annotations

import re

from holdfast.stores.address import with_wakeups

_NAMED = re.compile(r"[?&]wakeups=")


def named_in(store: str) -> bool:
    """Whether the address of the store names them. An empty `wakeups=` means the store's own."""
    return _NAMED.search(store) is not None


def brings_its_own(store: str) -> bool:
    """Whether the store is not a SQL store: it then always uses its own."""
    return store.startswith(("redis", "memory:"))


def joined(store: str, wakeups: str | None) -> str:
    """The address of the store, with the wake-ups as a parameter."""
    return store if wakeups is None else with_wakeups(store, wakeups)
