"""Claims of the type `resize`."""

from __future__ import annotations

from holdfast.core.record import Record
from holdfast.engine.operations import ClaimJobs, TypeTerms
from holdfast.stores.postgres import PostgresStore

TERMS = (TypeTerms("resize", 60_000_000, 25),)


def claim(store: PostgresStore, limit: int) -> list[Record]:
    return store.perform_sync(ClaimJobs(TERMS, limit, "worker", "token"))
