"""A client migrates once while it is open. The dashboard opens its client for every page."""

from __future__ import annotations

from holdfast import Client, SyncClient
from holdfast.stores.memory import MemoryStore


class CountingStore(MemoryStore):
    migrations = 0

    async def migrate(self) -> list[str]:
        return self.migrate_sync()

    def migrate_sync(self) -> list[str]:
        self.migrations += 1
        return super().migrate_sync()


async def test_an_open_client_does_not_migrate_again() -> None:
    store = CountingStore()
    client = Client(store, migrate=True)

    await client.open()
    await client.open()
    assert store.migrations == 1
    await client.close()
    await client.open()

    assert store.migrations == 2


def test_an_open_blocking_client_does_not_migrate_again() -> None:
    store = CountingStore()
    client = SyncClient(store, migrate=True)

    client.open()
    client.open()
    assert store.migrations == 1
    client.close()
    client.open()

    assert store.migrations == 2
