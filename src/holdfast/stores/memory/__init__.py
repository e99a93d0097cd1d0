"""The memory store: the shortest store, and the specification of the others."""

from holdfast.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
