"""Jobs in a SQLite file."""

from holdfast.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
