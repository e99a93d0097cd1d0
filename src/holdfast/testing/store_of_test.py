"""The store of one test: empty, open, and removed after the test where that is possible."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from uuid import uuid4

from holdfast.engine.store import Store
from holdfast.engine.wakeups import ANYTHING
from holdfast.stores.address import open_store
from holdfast.testing.clock import ManualClock

_SEPARATED = {"postgres": "schema", "postgresql": "schema"}
"""The option of an address that gives a test its own part of a server. Redis: `namespace`."""


@contextmanager
def opened_store(address: str, clock: ManualClock | None) -> Generator[Store]:
    """Open a store for a test.

    On PostgreSQL the test has a schema of its own, which is dropped afterwards, and on Redis a namespace of its own,
    unless the address names one. Redis keeps the namespace of the test.
    """
    scheme = address.partition("://")[0]
    option = _SEPARATED.get(scheme, "namespace" if scheme.startswith("redis") else None)
    own = option is not None and f"{option}=" not in address
    if own:
        address += f"{'&' if '?' in address else '?'}{option}=test_{uuid4().hex[:16]}"
    store = open_store(address)
    if clock is not None:
        store.clock = clock
    store.open_sync()
    try:
        store.migrate_sync()
        unsubscribe = clock.subscribe(lambda: store.wakeups.send(ANYTHING)) if clock is not None else None
        yield store
        if unsubscribe is not None:
            unsubscribe()
        if own and option == "schema":
            _drop_schema(store, address.rpartition("=")[2])
    finally:
        store.close_sync()


def _drop_schema(store: Store, schema: str) -> None:
    store.open_sync()  # an async test has closed it
    transaction = store.begin_sync()
    try:
        transaction.native.execute(f'drop schema "{schema}" cascade')
    except BaseException:
        transaction.rollback()
        raise
    transaction.commit()
