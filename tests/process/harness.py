"""The stores that processes can share, each with a ledger of the completions."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from holdfast import SyncClient
from tests.freezing import is_write_locked
from tests.process.handlers import jobs
from tests.servers.postgres import shared_postgres
from tests.servers.postgres_schemas import fresh_address
from tests.servers.redis import shared_redis

Ledger = list[tuple[int, str]]


@dataclass
class Harness:
    """A store's address, a client on it, and the ledger."""

    url: str
    client: SyncClient
    ledger: Callable[[], Ledger]
    """Number and token of every completion, by number. A completion that committed twice would show twice."""
    is_locked: Callable[[], bool]
    """Whether a process holds a lock that blocks all other writers."""


@contextmanager
def sqlite_harness(folder: Path) -> Generator[Harness]:
    path = folder / "jobs.db"

    def ledger() -> Ledger:
        with closing(sqlite3.connect(path)) as connection:
            return connection.execute("select number, token from ledger order by number").fetchall()

    with SyncClient(f"sqlite:///{path}", jobs) as client:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("create table ledger (number integer not null, token text not null)")
        yield Harness(f"sqlite:///{path}", client, ledger, lambda: is_write_locked(path))


@contextmanager
def redis_harness(folder: Path) -> Generator[Harness]:
    url = shared_redis().address()
    with SyncClient(url, jobs) as client:

        def ledger() -> Ledger:
            """Redis has no transaction for a ledger, so this reads the completed chains."""
            completed = client.list_chains(status="completed", limit=1000).items
            return sorted((chain.first_job.input["number"], str(chain.output)) for chain in completed)

        yield Harness(url, client, ledger, lambda: False)


@contextmanager
def postgres_harness(folder: Path) -> Generator[Harness]:
    url = fresh_address()
    with SyncClient(url, jobs) as client, shared_postgres().connect() as connection:
        connection.execute("drop table if exists ledger")
        connection.execute("create table ledger (number integer not null, token text not null)")

        def ledger() -> Ledger:
            return connection.execute("select number, token from ledger order by number").fetchall()

        yield Harness(url, client, ledger, lambda: False)


HARNESSES = {"sqlite": sqlite_harness, "postgres": postgres_harness, "redis": redis_harness}
