"""Servers for long measurements, private and with the disk settings of production."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager

from tests.servers.postgres import running_postgres
from tests.servers.redis import run_redis

STORES = ("sqlite", "postgres", "redis")


@contextmanager
def addresses(store: str, count: int) -> Generator[list[str]]:
    """Addresses of empty stores on one server."""
    match store:
        case "postgres":
            with running_postgres(fsync="on", shared_buffers="512MB", max_wal_size="4GB") as server:
                yield [server.address(schema=f"growth_{number}", notify="off") for number in range(count)]
        case "redis":
            with run_redis(appendonly="yes", appendfsync="everysec") as server:
                yield [server.address(f"growth{number}", timeout="60") for number in range(count)]
        case _:
            with tempfile.TemporaryDirectory(prefix="holdfast-growth-") as folder:
                yield [f"sqlite:///{folder}/{number}.db" for number in range(count)]
