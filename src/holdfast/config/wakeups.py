"""The wake-ups of a store: those in its address, those that are set apart from it, or its own."""

from __future__ import annotations

import re

from holdfast.stores.address import with_wakeups
from holdfast.stores.sharded.address import each_address, map_addresses

_NAMED = re.compile(r"[?&]wakeups=")


def named_in(store: str) -> bool:
    """Whether the address of the store, or of each shard, sets wake-ups. An empty `wakeups=` means the store's own."""
    return all(_NAMED.search(each) is not None for each in _sql_addresses(store))


def brings_its_own(store: str) -> bool:
    """Whether the store is not a SQL store. Such a store always uses its own wake-ups."""
    return not _sql_addresses(store)


def joined(store: str, wakeups: str | None) -> str:
    """The address of the store, with the wake-ups as a parameter."""
    if wakeups is None:
        return store
    return map_addresses(
        store, lambda each: each if _has_own(each) or _NAMED.search(each) else with_wakeups(each, wakeups)
    )


def _has_own(address: str) -> bool:
    return address.startswith(("redis", "memory:"))


def _sql_addresses(store: str) -> list[str]:
    return [each for each in each_address(store) if not _has_own(each)]
