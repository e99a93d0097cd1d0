"""Lists and counts may come from a replica. Decisions always use the primary."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import quote

import psycopg
import pytest

from holdfast import Client, Jobs, SyncClient
from holdfast.engine.operations import ClaimJobs, Examine, Filter, GetStats, ListChains, Start, TypeTerms
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.address import parse
from holdfast.stores.postgres.connection import replica
from holdfast.testing.builders import new_job
from tests.servers.postgres import Postgres, running_postgres, running_standby
from tests.waiting import wait_until

TERMS = (TypeTerms("resize", 60_000_000, 25),)


@pytest.fixture(scope="module")
def primary() -> Iterator[Postgres]:
    with running_postgres() as server:
        PostgresStore(server.address(notify="off")).migrate_sync()
        yield server


@pytest.fixture(scope="module")
def standby(primary: Postgres) -> Iterator[Postgres]:
    with running_standby(primary) as server:
        yield server


@pytest.fixture
def address(primary: Postgres, standby: Postgres) -> Iterator[str]:
    """The address of a store with a replica whose replay is paused, so that its data is outdated."""
    with standby.connect() as connection:
        catch_up(primary, connection)
        connection.execute("select pg_wal_replay_pause()")
        wait_for(connection, "select pg_is_wal_replay_paused()")
        yield with_replica(primary, standby)
        connection.execute("select pg_wal_replay_resume()")


def with_replica(primary: Postgres, standby: Postgres) -> str:
    return primary.address(notify="off", replica=quote(standby.address(), safe=""))


def catch_up(primary: Postgres, connection: psycopg.Connection) -> None:
    """Wait until the standby has replayed everything that the primary wrote."""
    with primary.connect() as writer:
        row = writer.execute("select pg_current_wal_lsn()::text").fetchone()
    assert row is not None
    wait_for(connection, f"select pg_last_wal_replay_lsn() >= '{row[0]}'::pg_lsn")


def wait_for(connection: psycopg.Connection, question: str) -> None:
    wait_until(lambda: connection.execute(question.encode()).fetchone() == (True,))


def test_lists_and_counts_come_from_the_replica_and_decisions_from_the_primary(address: str) -> None:
    job = new_job(key="order-1")
    with SyncClient(address, Jobs()) as client:
        known = len(client.list_chains(limit=1000).items)
        counted = client.stats().counts
        client.store.perform_sync(Start((job,)))

        assert len(client.list_chains(limit=1000).items) == known
        assert client.stats().counts == counted
        assert job.id not in {each.id for each in client.list_jobs(limit=1000).items}
        assert client.report(job.id) is None

        assert client.get(job.id) is not None
        assert client.get_job(job.id) is not None
        (again,) = client.store.perform_sync(Start((new_job(key="order-1"),)))
        assert again.deduplicated
        assert job.id in {each.first.id for each in client.store.perform_sync(ListChains(Filter(), 1000))}
        assert sum(each.due for each in client.store.perform_sync(GetStats())) == known + 1
        assert job.id in {each.id for each in client.store.perform_sync(ClaimJobs(TERMS, 1000, "worker", "token"))}
        client.cancel(job.id)


async def test_async_clients_use_the_replica_too(address: str) -> None:
    job = new_job()
    async with Client(address, Jobs()) as client:
        known = {chain.id for chain in (await client.list_chains(limit=1000)).items}
        await client.store.perform(Start((job,)))

        assert {chain.id for chain in (await client.list_chains(limit=1000)).items} == known
        assert await client.get(job.id) is not None
        await client.cancel(job.id)


def test_the_primary_answers_while_the_replica_is_down(
    primary: Postgres, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(replica, "RETRY_AFTER", 0.0)
    caplog.set_level(logging.INFO, "holdfast")
    job = new_job()
    with running_standby(primary) as standby, SyncClient(with_replica(primary, standby), Jobs()) as client:
        client.list_chains()
        standby.stop()
        client.store.perform_sync(Start((job,)))

        for _ in range(3):
            assert job.id in {chain.id for chain in client.list_chains(limit=1000).items}
        standby.start()
        with standby.connect() as connection:
            catch_up(primary, connection)
            assert job.id in {chain.id for chain in client.list_chains(limit=1000).items}
            seen = connection.execute("select count(*) from pg_stat_activity where application_name = 'holdfast'")
            assert seen.fetchone() == (1,)

    messages = [record.getMessage() for record in caplog.records if "replica" in record.getMessage()]
    assert len(messages) == 2
    assert "asking the primary" in messages[0]
    assert "answers again" in messages[1]


async def test_the_doctor_asks_the_replica(primary: Postgres, standby: Postgres) -> None:
    store = PostgresStore(with_replica(primary, standby))
    broken = PostgresStore(primary.address(notify="off", replica="postgresql://127.0.0.1:1"))

    (well,) = [finding for finding in await store.perform(Examine()) if finding.subject == "replica"]
    (down,) = [finding for finding in broken.perform_sync(Examine()) if finding.subject == "replica"]

    assert (well.level, down.level) == ("ok", "warning")
    assert "s behind" in well.detail
    assert "does not answer" in down.detail
    await store.close()
    broken.close_sync()


def test_a_failed_replica_is_not_used_for_a_while(primary: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica, "RETRY_AFTER", 3600.0)
    callers: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def close_all() -> None:
            with suppress(OSError):
                while True:
                    callers.append(listener.accept()[0])
                    callers[-1].close()

        threading.Thread(target=close_all, daemon=True).start()
        broken = f"postgresql://127.0.0.1:{listener.getsockname()[1]}"
        with SyncClient(primary.address(notify="off", replica=broken), Jobs()) as client:
            for _ in range(5):
                client.list_chains()
        listener.shutdown(socket.SHUT_RDWR)

    assert len(callers) == 1


def test_a_replica_takes_missing_parts_of_its_address_from_the_primary() -> None:
    address = parse(
        "postgresql://app:s3cret@db.example:5433/shop?schema=jobs&sslmode=require&target_session_attrs=read-write"
        "&replica=postgresql://reader@replica.example"
    )

    assert address.replica is not None
    assert address.replica.schema == "jobs"
    assert address.replica.connection == {
        "user": "reader",
        "password": "s3cret",
        "dbname": "shop",
        "host": "replica.example",
        "sslmode": "require",
        "connect_timeout": 3,
    }
    assert "s3cret" not in address.name + address.replica.name


def test_a_replica_that_is_not_postgresql_is_rejected() -> None:
    with pytest.raises(ValueError, match="address of the replica cannot be read"):
        parse("postgresql://db/shop?replica=redis://cache")
