"""New storage for each process of a pair, on one server."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

from tests.servers.ports import free_port
from tests.servers.postgres import running_postgres
from tests.servers.postgres_schemas import new_database
from tests.servers.redis import run_redis

STORES = ("memory", "sqlite", "postgres", "redis")


@dataclass(frozen=True)
class NewStorage:
    address: Callable[[], str]
    server: int | None = None
    """The process whose CPU time is measured too, with its child processes."""


@contextmanager
def storages(store: str) -> Generator[NewStorage]:
    match store:
        case "postgres":
            with running_postgres(fsync="on", shared_buffers="512MB", max_wal_size="4GB") as server:
                yield NewStorage(lambda: new_database(server), server.pid)
        case "redis":
            with run_redis(
                port=free_port(), appendonly="yes", appendfsync="everysec", auto_aof_rewrite_percentage="0"
            ) as redis:
                yield NewStorage(redis.tcp_address, redis.pid)
        case "sqlite":
            numbers = count()
            with tempfile.TemporaryDirectory(prefix="holdfast-compare-") as folder:
                yield NewStorage(lambda: f"sqlite:///{folder}/{next(numbers)}.db")
        case _:
            yield NewStorage(lambda: "memory://")
