"""Starts a Redis or Valkey service for tests: a master, a replica, and three sentinels that monitor them."""

from __future__ import annotations

import socket
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import redis

from tests.servers.ports import free_port
from tests.servers.redis import (
    START_SECONDS,
    Product,
    RedisServer,
    is_synchronised,
    new_namespace,
    run_redis,
    spawn,
    until,
)

SERVICE = "mymaster"
"""The service that the sentinels monitor."""


class RedisSentinel:
    """A sentinel process that monitors one service."""

    def __init__(
        self, home: Path, *, port: int, product: Product, monitored: int, down_after: int, settings: Sequence[str] = ()
    ) -> None:
        self.home = home
        self.port = port
        self.product: Product = product
        self._process: subprocess.Popen[bytes] | None = None
        lines = [
            f"port {port}",
            "bind 127.0.0.1",
            f"dir {home}",
            f"sentinel monitor {SERVICE} 127.0.0.1 {monitored} 2",
            f"sentinel down-after-milliseconds {SERVICE} {down_after}",
            f"sentinel failover-timeout {SERVICE} 2000",
            *settings,
        ]
        # Sentinel rewrites this file with its state.
        (home / "sentinel.conf").write_text("\n".join(lines) + "\n")

    def connect(self) -> Any:
        return redis.Redis(port=self.port, socket_timeout=START_SECONDS)

    def start(self) -> None:
        self._process = spawn(self.product, [str(self.home / "sentinel.conf"), "--sentinel"], self.home, {})
        until(lambda: _accepts(self.port))

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=START_SECONDS)
            self._process = None


class RedisService:
    """A master with replicas, and three sentinels that monitor it."""

    def __init__(self, servers: list[RedisServer], sentinels: list[RedisSentinel]) -> None:
        self.servers = servers
        self.sentinels = sentinels

    def address(self, namespace: str | None = None, *, service: str = SERVICE, **options: str) -> str:
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        given = {"namespace": namespace or new_namespace(), **options}
        return f"redis+sentinel://{hosts}/{service}?" + "&".join(f"{name}={value}" for name, value in given.items())

    @property
    def master(self) -> RedisServer:
        """The server that the sentinels report as the master."""
        with self.sentinels[0].connect() as client:
            _, port = client.execute_command("SENTINEL", "get-master-addr-by-name", SERVICE)
        return next(server for server in self.servers if server.port == int(port))


@contextmanager
def run_service(
    *, product: Product = "redis", down_after: int = 15_000, sentinel_settings: Sequence[str] = (), **settings: str
) -> Generator[RedisService]:
    """A master, a replica and three sentinels until the end of the block.

    After `down_after` milliseconds without an answer, a master is replaced. On a busy machine one may answer late.
    """
    settings |= {"bind": "127.0.0.1", "repl_diskless_sync_delay": "0", "repl_ping_replica_period": "1"}
    with ExitStack() as stack:
        master = stack.enter_context(run_redis(port=free_port(), where=None, product=product, **settings))
        settings["replicaof"] = f"127.0.0.1 {master.port}"
        replica = stack.enter_context(run_redis(port=free_port(), where=None, product=product, **settings))
        if "requirepass" not in settings:
            with replica.connect() as client:
                until(partial(is_synchronised, client))
        sentinels: list[RedisSentinel] = []
        for _ in range(3):
            home = stack.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-sentinel-"))
            sentinel = RedisSentinel(
                Path(home),
                port=free_port(),
                product=product,
                monitored=master.port,
                down_after=down_after,
                settings=sentinel_settings,
            )
            stack.callback(sentinel.stop)
            sentinel.start()
            sentinels.append(sentinel)
        for sentinel in sentinels:
            until(partial(_knows_all, sentinel, others=len(sentinels) - 1))
        yield RedisService([master, replica], sentinels)


def _accepts(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def _knows_all(sentinel: RedisSentinel, *, others: int) -> bool:
    """Whether a sentinel has found the replica and the other sentinels: a failover needs them."""
    with suppress(redis.AuthenticationError), sentinel.connect() as client:
        state: Any = client.execute_command("SENTINEL", "MASTER", SERVICE)
        # RESP3 answers with a map, RESP2 with a list of names and values.
        pairs: dict[Any, Any] = state if hasattr(state, "items") else dict(zip(state[::2], state[1::2], strict=True))
        facts = {_decoded(name): _decoded(value) for name, value in pairs.items()}
        return facts["num-other-sentinels"] == str(others) and facts["num-slaves"] == "1"
    return True


def _decoded(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
