"""A store from its address."""

from __future__ import annotations

from holdfast.store import Store
from holdfast.stores.memory import MemoryStore


def open_store(address: str | Store) -> Store:
    """The store at an address, not yet connected; a store object as it is."""
    if isinstance(address, Store):
        return address
    return MemoryStore(address)
