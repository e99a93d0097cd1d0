"""The application's transaction: its database is the shard of the chain."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from holdfast import Jobs, SyncClient, WrongShard


@pytest.fixture
def client(tmp_path: Path, jobs: Jobs) -> Generator[SyncClient]:
    with SyncClient({name: f"sqlite:///{tmp_path}/{name}.db" for name in ("eu", "us")}, jobs) as client:
        yield client


@contextmanager
def _connected(folder: Path, shard: str) -> Generator[sqlite3.Connection]:
    """A connection with a transaction, which is committed at the end."""
    with closing(sqlite3.connect(folder / f"{shard}.db", isolation_level=None)) as connection, connection:
        connection.execute("begin immediate")
        yield connection


@pytest.mark.parametrize("shard", ["eu", "us"])
def test_a_chain_is_started_on_the_shard_of_the_transaction(
    client: SyncClient, jobs: Jobs, tmp_path: Path, shard: str
) -> None:
    with _connected(tmp_path, shard) as connection:
        chains = [client.start(jobs["resize"].bind(number), tx=connection) for number in range(5)]
        assert client.get(chains[0].id) is None
        connection.execute("commit")

    assert {chain.id.partition("~")[0] for chain in chains} == {shard}
    assert all(client.get(chain.id) is not None for chain in chains)


def test_a_rollback_removes_the_chain(client: SyncClient, jobs: Jobs, tmp_path: Path) -> None:
    with _connected(tmp_path, "us") as connection:
        chain = client.start(jobs["resize"].bind(1), tx=connection)
        connection.execute("rollback")

    assert client.get(chain.id) is None


def test_a_key_of_another_shard_is_refused(client: SyncClient, jobs: Jobs, tmp_path: Path) -> None:
    homes = {key: client.start(jobs["resize"].bind(1), key=key).id.partition("~")[0] for key in map(str, range(20))}
    here, there = [next(key for key, home in homes.items() if home == name) for name in ("eu", "us")]

    with _connected(tmp_path, "eu") as connection:
        assert client.start(jobs["resize"].bind(1), key=here, tx=connection).deduplicated
        with pytest.raises(ValueError, match=r"the transaction belongs on eu; its key .* belongs on us"):
            client.start(jobs["resize"].bind(1), key=there, tx=connection)
        with pytest.raises(WrongShard):
            client.start(jobs["resize"].bind(1), shard="us", tx=connection)
        connection.execute("rollback")


def test_a_chain_of_another_shard_is_refused(client: SyncClient, jobs: Jobs, tmp_path: Path) -> None:
    chain = client.start(jobs["resize"].bind(1), shard="us")

    with _connected(tmp_path, "eu") as connection:
        with pytest.raises(WrongShard, match="belongs on the shard us"):
            client.cancel(chain, tx=connection)
        with pytest.raises(ValueError, match="another database"), client.completing(chain, tx=connection):
            pass
        connection.execute("rollback")


def test_a_connection_to_no_shard_is_refused(client: SyncClient, jobs: Jobs, tmp_path: Path) -> None:
    with _connected(tmp_path, "other") as connection:
        with pytest.raises(ValueError, match="another database than those of the shards"):
            client.start(jobs["resize"].bind(1), tx=connection)
        connection.execute("rollback")


def test_a_connection_of_another_class_is_refused(client: SyncClient, jobs: Jobs) -> None:
    with pytest.raises(TypeError, match="this store takes"):
        client.start(jobs["resize"].bind(1), tx=object())


def test_a_chain_is_completed_from_outside_on_its_shard(client: SyncClient, jobs: Jobs, tmp_path: Path) -> None:
    chain = client.start(jobs["resize"].bind(1), shard="us")

    with _connected(tmp_path, "us") as connection:
        with client.completing(chain, tx=connection) as current:
            current.output(5)
        connection.execute("commit")

    assert client.wait(chain, timeout=60) == 5
