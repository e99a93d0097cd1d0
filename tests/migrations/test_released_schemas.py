"""Stores that a release made, used by the working tree."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from holdfast import Client, SyncClient
from holdfast.stores.postgres.migration import migrations as postgres_migrations
from holdfast.stores.redis.keys import LAYOUT
from holdfast.stores.sqlite.migration import migrations as sqlite_migrations
from holdfast.testing import drain
from tests.migrations import redis_layout, releases
from tests.migrations.catalogue import catalogue, without_comments
from tests.servers.postgres import shared_postgres
from tests.servers.postgres_schemas import new_database
from tests.servers.redis import new_namespace, shared_redis

ADVICE = "0.1.0 is not released yet: write its folder again with `make schema`. Later: add a migration instead"


def test_there_is_one_migration_for_each_store() -> None:
    assert list(postgres_migrations()) == list(sqlite_migrations()) == ["0001_jobs"]


@pytest.mark.parametrize("release", releases.RELEASES)
@pytest.mark.parametrize("name", [releases.POSTGRES, releases.SQLITE])
def test_the_migrations_of_a_release_do_not_change(release: str, name: str) -> None:
    made = {releases.POSTGRES: releases.postgres_script, releases.SQLITE: releases.sqlite_script}[name]()

    for part in releases.stored(release, name).split("\n\n"):
        assert without_comments(part) in without_comments(made), ADVICE


@pytest.mark.parametrize("release", releases.RELEASES)
def test_a_sqlite_file_of_a_release_is_brought_up_to_date(release: str, tmp_path: Path) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    releases.create_sqlite(old, release)
    for path in (old, new):
        with SyncClient(f"sqlite:///{path}", migrate=True):
            pass

    assert catalogue(f"sqlite:///{old}") == catalogue(f"sqlite:///{new}"), ADVICE


@pytest.mark.postgres
@pytest.mark.parametrize("release", releases.RELEASES)
def test_a_postgresql_schema_of_a_release_is_brought_up_to_date(release: str) -> None:
    old, new = (new_database(shared_postgres()) for _ in range(2))
    with psycopg.connect(old, autocommit=True) as connection:
        connection.execute(releases.stored(release, releases.POSTGRES).encode())
    for address in (old, new):
        with SyncClient(address, migrate=True):
            pass

    assert catalogue(old) == catalogue(new), ADVICE


@pytest.mark.redis
@pytest.mark.parametrize("release", releases.RELEASES)
def test_the_redis_layout_of_a_release_is_kept(release: str) -> None:
    stored = json.loads(releases.stored(release, releases.REDIS))

    assert stored["layout"] == LAYOUT, ADVICE
    assert redis_layout.shape(stored) <= redis_layout.shape(redis_layout.sample()), ADVICE


@pytest.mark.redis
@pytest.mark.parametrize("release", releases.RELEASES)
async def test_the_jobs_of_a_release_on_redis_run(release: str) -> None:
    namespace = new_namespace()
    redis_layout.load(json.loads(releases.stored(release, releases.REDIS)), namespace)
    async with Client(shared_redis().address(namespace), redis_layout.jobs) as client:

        async def state(key: str) -> tuple[str, object]:
            (chain,) = (await client.list_chains(key=key)).items
            return chain.status, chain.output

        before = {key: await state(key) for key in ("done", "cancelled", "later", "scheduled", "due", "in-lane")}
        [failed] = (await client.list_jobs(status="failed")).items
        [waiting] = (await client.list_chains(key="waiting")).items
        limits = {limit.name: limit.number for limit in await client.limits()}
        schedules = [schedule.name for schedule in await client.schedules()]
        paused = (await client.stats()).types["paused"].paused
        await client.send(waiting, "more", 100)
        await drain(client)
        after = {key: await state(key) for key in ("waiting", "later", "due", "in-lane")}

    assert before == {
        "done": ("completed", 2),
        "cancelled": ("cancelled", None),
        "later": ("blocked", None),
        "scheduled": ("pending", None),
        "due": ("pending", None),
        "in-lane": ("pending", None),
    }
    assert "no 2" in str(failed.error)
    assert limits == {"two": 1, "often": 100, "account": 1}
    assert schedules == ["nightly"]
    assert paused
    assert after["waiting"] == ("completed", 110)
    assert after["due"] == ("completed", 18)
    assert after["in-lane"] == ("completed", "c")
    assert after["later"][0] in ("pending", "completed")  # no longer blocked; it was due a day later
