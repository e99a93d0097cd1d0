"""Redis: a private server with `appendfsync always` behind the proxy; the audit is part of the scripts."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGKILL, SIGTERM, Signals
from typing import Any

from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from holdfast.stores.redis.connection.connection_pool import MAX_CONNECTIONS, MAX_IDLE
from tests.servers.ports import free_port
from tests.servers.redis import RedisServer, run_redis
from torture import lua_audit
from torture.audit import Change
from torture.harnesses import open_handles
from torture.harnesses.disk import Disk, limited, own_disk
from torture.harnesses.harness import AT_ONCE, Fault, Harness, settled
from torture.harnesses.proxy_faults import proxy_faults
from torture.proxy import Proxy

NAMESPACE = "torture"
OF_A_PROCESS = MAX_CONNECTIONS + MAX_IDLE + 2
"""The async connections, those kept for threads, one subscriber and one publisher."""


class RedisHarness(Harness):
    """A server that can be killed, whose scripts can be flushed, and whose network can fail."""

    transactional = False

    def __init__(self, server: RedisServer, proxy: Proxy, disk: Disk | None = None) -> None:
        self.server = server
        self.proxy = proxy
        self._disk = disk
        self.url = server.tcp_address(NAMESPACE, port=proxy.port)
        self.direct = server.tcp_address(NAMESPACE)
        self.neighbour = server.tcp_address("neighbour")
        with server.connect() as client:
            self.versions = {"redis": client.info("server")["redis_version"]}

    def audit(self) -> list[Change]:
        with self.server.connect() as client:
            return lua_audit.changes(client.xrange(f"{{{NAMESPACE}}}:changes"))

    def ledger(self) -> list[tuple[str, int, str]]:
        return []

    def business(self) -> list[str]:
        return []

    def faults(self) -> list[Fault]:
        return [
            *proxy_faults(self.proxy, b"evalsha"),
            Fault("scripts flushed", self._flush, outage=False),
            Fault("clients killed", self._kill_clients, recovery=AT_ONCE),
            Fault("server kill", lambda seconds: self._restart(SIGKILL, seconds), longest=1.0),
            Fault("server restart", lambda seconds: self._restart(SIGTERM, seconds), longest=0.5),
            Fault("server asleep", self._sleep, longest=1.0, recovery=AT_ONCE),
            Fault("memory full", self._fill_memory, longest=1.0, recovery=AT_ONCE),
            Fault("disk full", self._fill_disk, longest=1.0),
        ]

    def _flush(self, seconds: float) -> bool:
        with self.server.connect() as client:
            return bool(client.script_flush())

    def _kill_clients(self, seconds: float) -> bool:
        with self.server.connect() as client:
            killed = [client.execute_command("CLIENT", "KILL", "TYPE", kind) for kind in ("normal", "pubsub")]
        return any(killed)

    def _restart(self, how: Signals, seconds: float) -> bool:
        self.server.stop(how)
        time.sleep(seconds)
        self.server.start()
        return True

    def _fill_memory(self, seconds: float) -> bool:
        """Set `maxmemory` to the used memory without eviction: the server refuses commands that may need memory."""
        seen = False
        with self.server.connect() as client:
            try:
                client.config_set("maxmemory", str(client.info("memory")["used_memory"]))
                until = time.monotonic() + seconds
                while time.monotonic() < until:
                    seen = self._refuses() or seen
                    time.sleep(0.05)
            finally:
                client.config_set("maxmemory", "0")
        return seen

    def _fill_disk(self, seconds: float) -> bool:
        """No space for the append-only file: with `appendfsync always` the server exits."""
        try:
            if self._disk is not None:
                return self._disk.be_full(seconds, self._refuses)
            pid = self.server.pid
            assert pid is not None
            largest = max((file.stat().st_size for file in append_only_files(self.server)), default=0)
            with limited(pid, largest + 4096):
                time.sleep(seconds)
                return self._refuses()
        finally:
            if self._refuses():
                self.server.stop()
                self.server.start()

    def _refuses(self) -> bool:
        """Whether a write fails, or the server does not answer. It answers after the append-only file is written."""
        try:
            with self.server.connect() as client:
                client.set_retry(Retry(NoBackoff(), 0))  # retries would prolong the outage
                client.set("torture:filler", "x" * 16384)
                client.delete("torture:filler")
        except RedisError:
            return True
        return False

    def _sleep(self, seconds: float) -> bool:
        with self.server.connect() as client:
            client.execute_command("CLIENT", "PAUSE", str(int(seconds * 1000)), "ALL")
        time.sleep(seconds)
        return True

    def at_rest(self, pids: Callable[[], list[int]]) -> dict[str, Any]:
        return settled(lambda: self._held(pids()))

    def _held(self, pids: list[int]) -> dict[str, Any]:
        held = open_handles.connections(pids, self.proxy.port)
        with self.server.connect() as client:
            served = sum(each["flags"] in ("N", "P") and each["addr"][0] != "/" for each in client.client_list())
        return open_handles.connections_reported(held, served=served, allowed=OF_A_PROCESS)

    def leaks(self) -> dict[str, Any]:
        deadline = time.monotonic() + 3
        left = 1
        with self.server.connect() as client:
            while left and time.monotonic() < deadline:
                own = client.client_id()
                left = sum(int(each["id"]) != own for each in client.client_list())
                time.sleep(0.05)
            memory = client.info("memory")["used_memory"]
        return {
            "left: connections": left,
            "bytes of memory": memory,
            "answers cut": self.proxy.cut,
            "connections made": self.proxy.accepted,
            "connections gone dead": self.proxy.dead,
            "of them hung up by their client": self.proxy.given_up,
            "most connections": self.proxy.most,
            "connection limit": 200,
        }


@contextmanager
def redis_harness(folder: Path, durability: str) -> Generator[Harness]:
    if durability:
        from torture.harnesses.redis_durability import weaker_harness

        with weaker_harness(folder, durability) as weaker:
            yield weaker
        return
    with (
        own_disk() as disk,
        run_redis(
            port=free_port(), where=disk.path if disk else None, appendonly="yes", appendfsync="always"
        ) as server,
    ):
        proxy = Proxy(("127.0.0.1", server.port))
        try:
            yield RedisHarness(server, proxy, disk)
        finally:
            proxy.close()


def append_only_files(server: RedisServer) -> list[Path]:
    """The append-only files: one file, or a folder of files since version 7."""
    return sorted(server.home.rglob("*.aof*"))
