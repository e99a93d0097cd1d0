"""The PostgreSQL store."""

from holdfast.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
