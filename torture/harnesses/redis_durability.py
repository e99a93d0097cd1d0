"""Redis in its weaker modes: what each mode loses by kills of the server, power failures and failovers."""

from __future__ import annotations

import shutil
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from signal import SIGKILL

from tests.servers.ports import free_port
from tests.servers.redis import RedisServer, run_redis, until
from torture.harnesses.harness import Fault, Harness
from torture.harnesses.power_loss import environment, lose_unflushed, shim
from torture.harnesses.redis import NAMESPACE, RedisHarness, append_only_files
from torture.proxy import Proxy

LAG = 0.5
"""The largest replication delay of a lagging replica, in seconds."""

MODES: dict[str, dict[str, str]] = {
    "always": {"appendonly": "yes", "appendfsync": "always"},
    "everysec": {"appendonly": "yes", "appendfsync": "everysec"},
    "none": {"appendonly": "no"},
    "replica": {"appendonly": "no"},
    "lagging replica": {"appendonly": "no"},
}


class WeakerRedis(RedisHarness):
    """A single server whose process is killed, or whose machine loses power."""

    def __init__(self, server: RedisServer, proxy: Proxy, flushed: Path | None) -> None:
        super().__init__(server, proxy)
        self._flushed = flushed

    def faults(self) -> list[Fault]:
        faults = [Fault("server kill", lambda seconds: self._restart(SIGKILL, seconds), longest=0.3)]
        if self._flushed is not None:
            faults.append(Fault("power lost", self._lose_power, longest=0.3))
        return faults

    def _lose_power(self, seconds: float) -> bool:
        assert self._flushed is not None
        self.server.stop(SIGKILL)
        lose_unflushed(self._flushed, append_only_files(self.server))
        time.sleep(seconds)
        self.server.start()
        return True


class ReplicatedRedis(RedisHarness):
    """A primary that is killed, and a replica that is promoted with the data that it has received."""

    def __init__(self, server: RedisServer, replica: RedisServer, proxy: Proxy, *, link: Proxy) -> None:
        super().__init__(server, proxy)
        self._replica = replica
        self._link = link
        self._follow()

    def faults(self) -> list[Fault]:
        return [Fault("failover", self._fail_over, longest=0.3)]

    def _fail_over(self, seconds: float) -> bool:
        self.server.stop(SIGKILL)
        with self._replica.connect() as client:
            client.execute_command("REPLICAOF", "NO", "ONE")
        time.sleep(seconds)
        old, self.server = self.server, self._replica
        self.proxy.server = ("127.0.0.1", self.server.port)
        self.proxy.reset()
        self.direct = self.server.tcp_address(NAMESPACE)
        self.neighbour = self.server.tcp_address("neighbour")
        for file in old.home.glob("*.rdb"):
            file.unlink()
        old.start()
        self._replica = old
        self._follow()
        return True

    def _follow(self) -> None:
        """Make the replica replicate through the link proxy, and wait until it has all data."""
        self._link.server = ("127.0.0.1", self.server.port)
        with self._replica.connect() as client:
            client.execute_command("REPLICAOF", "127.0.0.1", str(self._link.port))
            until(lambda: client.info("replication").get("master_link_status") == "up")


@contextmanager
def weaker_harness(folder: Path, durability: str) -> Generator[Harness]:
    """A harness whose server runs in this mode."""
    settings = {**MODES[durability], "auto_aof_rewrite_percentage": "0", "repl_diskless_sync_delay": "0"}
    with ExitStack() as stack:
        server = stack.enter_context(run_redis(port=free_port(), where=None, product="redis", **settings))
        proxy = Proxy(("127.0.0.1", server.port))
        stack.callback(proxy.close)
        if "replica" in durability:
            replica = stack.enter_context(run_redis(port=free_port(), where=None, product="redis", **settings))
            link = Proxy(("127.0.0.1", server.port))
            stack.callback(link.close)
            harness: RedisHarness = ReplicatedRedis(server, replica, proxy, link=link)
            if durability.startswith("lagging"):
                link.delay, link.mode = LAG, "delay"
        else:
            flushed = _watch_flushes(server, folder) if settings["appendonly"] == "yes" else None
            harness = WeakerRedis(server, proxy, flushed)
        harness.durability = durability
        yield harness


def _watch_flushes(server: RedisServer, folder: Path) -> Path | None:
    library = shim(folder)
    if library is None:
        return None
    flushed = folder / "flushed.log"
    server.environment = environment(library, flushed)
    server.stop()
    for left in append_only_files(server):
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    server.start()
    return flushed
