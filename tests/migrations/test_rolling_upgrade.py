"""A release and the next version together on one store, under load, while the store is migrated."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from holdfast import Chain, Status, SyncClient
from tests.migrations import versions
from tests.migrations.blocked_migration import migrate_beside_an_open_transaction
from tests.migrations.lock_times import seconds_locked
from tests.migrations.program import TYPES, jobs
from tests.migrations.version_processes import Version
from tests.servers.postgres import shared_postgres
from tests.servers.postgres_schemas import new_database
from tests.servers.redis import shared_redis
from tests.waiting import wait_until

OLD, NEW = "release", "next"
UNFINISHED = (Status.PENDING, Status.RUNNING)

ADDRESSES: dict[str, Callable[[Path], str]] = {
    "sqlite": lambda folder: f"sqlite:///{folder / 'jobs.db'}",
    "postgres": lambda _: new_database(shared_postgres()),
    "redis": lambda _: shared_redis().address(),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("versions")
    return versions.release(folder), versions.next_version(folder)


@pytest.mark.parametrize("store", ADDRESSES)
def test_two_versions_work_together_through_a_migration(store: str, folders: tuple[Path, Path], tmp_path: Path) -> None:
    address = ADDRESSES[store](tmp_path)
    old, new = Version(OLD, folders[0], address, tmp_path), Version(NEW, folders[1], address, tmp_path)
    added = "" if store == "redis" else versions.NAME  # Redis has no schema: the new version writes one more field
    old.holdfast("migrate")

    with SyncClient(address, jobs) as client, ExitStack() as new_worker, ExitStack() as new_producer:
        with old.running("worker"), old.running("producer"):
            old.wait_for_starts()
            assert added in new.holdfast("migrate", "--check", code=1 if added else 0)
            if store == "postgres":
                waited = migrate_beside_an_open_transaction(old, new)
                sys.stdout.write(f"sessions waited behind the migration for {waited:.3f} s at most\n")
            assert added in new.holdfast("migrate") or store == "postgres"
            for version in (new, old):
                assert "up to date" in version.holdfast("migrate", "--check")
            new_worker.enter_context(new.running("worker"))
            new_producer.enter_context(new.running("producer"))
            # Each version runs jobs that the other one started.
            wait_until(lambda: len({who(chain) for chain in completed(client)}) == 4)
        new.wait_for_starts()
        new_producer.close()
        wait_until(lambda: not [each for each in UNFINISHED if client.stats().counts.get(each)])
        new_worker.close()
        chains = list(completed(client))
        attempts = {job.attempt for job in client.list_jobs(limit=1000).items}

    locked = seconds_locked(store, address, tmp_path)
    sys.stdout.write(f"{store}: the migration held its lock for {locked} s\n")

    assert (locked is None) == (store == "redis")
    assert len(chains) == (old.started() + new.started()) * len(TYPES)
    assert len({(chain.type, chain.key) for chain in chains}) == len(chains)
    assert attempts == {1}


def completed(client: SyncClient) -> Iterator[Chain[str]]:
    cursor: str | None = None
    while True:
        page = client.list_chains(status="completed", limit=1000, cursor=cursor)
        yield from page.items
        if (cursor := page.next_cursor) is None:
            return


def who(chain: Chain[str]) -> tuple[str, str]:
    """The version that started a chain, and the one that completed it."""
    return chain.first_job.input["producer"], str(chain.output)
