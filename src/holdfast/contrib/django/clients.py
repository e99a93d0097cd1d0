"""The client of a Django project. With `DATABASE` it uses the connection of Django, and joins its open transaction."""

from __future__ import annotations

import atexit
import os
import threading
from typing import Any, TypeVar

from django.core.signals import setting_changed
from django.db import connections

from holdfast.client.sync_client import SyncClient
from holdfast.client.tx_events import EventsOf
from holdfast.contrib.django.configuration import configuration
from holdfast.contrib.django.connection_store import ConnectionStore
from holdfast.contrib.django.discovery import registry
from holdfast.engine.procedures import Procedure

R = TypeVar("R")


class DjangoClient(SyncClient):
    """A SyncClient whose calls without `tx=` belong to the open `atomic()` of the database, if there is one."""

    def _run(self, call: Procedure[R], tx: Any, events_of: EventsOf[R] | None = None) -> R:
        return super()._run(call, self._joined(tx), events_of)

    def completing(self, chain: Any, *, type: Any = None, tx: Any = None) -> Any:
        """As `SyncClient.completing`, in the open `atomic()` of the database, if there is one."""
        return super().completing(chain, type=type, tx=self._joined(tx))

    def _joined(self, tx: Any) -> Any:
        if tx is None and isinstance(self.store, ConnectionStore) and self.store.is_in_transaction():
            return self.store.alias
        return tx


_lock = threading.Lock()
_made: tuple[int, SyncClient] | None = None


def client() -> SyncClient:
    """The client of this process, for any thread. With `STORE` it connects at its first call."""
    global _made
    made = _made
    if made is not None and made[0] == os.getpid():
        return made[1]
    with _lock:
        if _made is None or _made[0] != os.getpid():
            _made = os.getpid(), _connected()
        return _made[1]


def close_client(**_: Any) -> None:
    """Close the client. The next call of `client` makes another one."""
    global _made
    made, _made = _made, None
    if made is not None and made[0] == os.getpid():
        made[1].close()


def _connected() -> SyncClient:
    configured = configuration()
    if configured.database is not None:
        return DjangoClient(ConnectionStore(configured.database, schema=configured.schema), registry())
    assert configured.store is not None
    made = SyncClient(configured.store, registry())
    made.open()
    return made


def _forget(*, setting: str, **_: Any) -> None:
    if setting in ("HOLDFAST", "DATABASES"):
        close_client()


def in_transaction(alias: str | None) -> bool:
    """Whether `atomic()` is open on this database, in this thread."""
    return alias is not None and connections[alias].in_atomic_block


atexit.register(close_client)
setting_changed.connect(_forget, dispatch_uid="holdfast.clients")
