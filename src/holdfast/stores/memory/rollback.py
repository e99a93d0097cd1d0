"""The rollback of the memory store: an undo log of the changes that an operation has made."""

from __future__ import annotations

from typing import Final, TypeVar

from holdfast.stores.memory.tables import Tables

_LONGER: Final = object()
"""In the undo log: the list had this length before."""

K = TypeVar("K")
V = TypeVar("V")


class RollbackTables(Tables):
    """The tables, and the changes of them that can be rolled back."""

    def set(self, table: dict[K, V], key: K, value: V) -> None:
        """Change an entry. The old value is recorded first, so an interrupted change can be undone."""
        self.undo += (table, key, table.get(key))
        table[key] = value

    def append(self, table: dict[K, list[V]], key: K, value: V) -> None:
        """Add a value to the list under a key."""
        values = table.get(key)
        if values is None:
            self.set(table, key, [value])
        else:
            self.undo += (values, len(values), _LONGER)
            values.append(value)

    def drop(self, table: dict[K, V], key: K) -> V | None:
        """Remove an entry, and return it."""
        self.undo += (table, key, table.get(key))
        return table.pop(key, None)

    def change_indexes(self) -> None:
        """Record that the operation removes entries from a heap: a rollback rebuilds the heaps."""
        self.undo += ({}, None, None)

    def roll_back(self) -> None:
        """Undo the current operation. If the rollback is interrupted, calling it again completes it."""
        while self.undo:
            table, key, before = self.undo[-3:]
            if before is _LONGER:
                del table[key:]
            elif before is None:
                table.pop(key, None)
            else:
                table[key] = before
            if len(self.undo) == 3:
                self._rebuild()
            del self.undo[-3:]

    def _rebuild(self) -> None:
        """Rebuild the indexes that the undo log does not cover."""
        raise NotImplementedError
