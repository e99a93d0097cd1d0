"""Whose wake-ups a store has: those of its address, those that are said beside it, or its own."""

from __future__ import annotations

import re

from holdfast.stores.address import with_wakeups

_NAMED = re.compile(r"[?&]wakeups=")


def named_in(store: str) -> bool:
    """Whether the store's address says it; `wakeups=` with nothing behind it asks for the store's own."""
    return _NAMED.search(store) is not None


def brings_its_own(store: str) -> bool:
    """Whether the store is none of SQL, so that there is nothing to choose."""
    return store.startswith(("redis", "memory:"))


def joined(store: str, wakeups: str | None) -> str:
    """The store's address with the wake-ups in it, which is how everybody hands them on."""
    return store if wakeups is None else with_wakeups(store, wakeups)
