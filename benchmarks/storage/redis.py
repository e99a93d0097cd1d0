"""Redis: a private server that writes its append-only file every second, emptied for every run."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from benchmarks.contender import Place
from benchmarks.storage.storage import Storage
from tests.servers.ports import free_port
from tests.servers.redis import RedisServer, run_redis


class RedisStorage:
    def __init__(self, server: RedisServer) -> None:
        self._server = server
        with server.connect() as client:
            version = client.info("server")["redis_version"]
        self.facts = {"Redis": str(version), "Redis appendonly": "yes", "Redis appendfsync": "everysec"}

    @contextmanager
    def fresh(self) -> Generator[Place]:
        with self._server.connect() as client:
            client.flushall()
            client.script_flush()
        yield Place("redis", f"redis://127.0.0.1:{self._server.port}/0")


@contextmanager
def redis_storage() -> Generator[Storage]:
    settings = {"appendonly": "yes", "appendfsync": "everysec", "auto_aof_rewrite_percentage": "0"}
    with run_redis(port=free_port(), where=None, product="redis", **settings) as server:
        yield RedisStorage(server)
