"""The memory store: the specification of the others, in the fewest words."""

from holdfast.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
