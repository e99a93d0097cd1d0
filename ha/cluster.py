"""The cluster: etcd, three nodes of Patroni with PostgreSQL, and HAProxy, all on loopback in a temporary folder."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from ha.configuration import NodePorts, haproxy, patroni
from ha.processes import Missing, end, free_port, owner, request, spawn, wait_for

NODES = 3
DATABASE = "postgres"


class Node:
    """One machine of the cluster: Patroni, and the PostgreSQL that it starts."""

    def __init__(self, home: Path, ports: NodePorts) -> None:
        self.home = home
        self.ports = ports
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        return self.ports.name

    def start(self) -> None:
        self._process = spawn([program("patroni"), str(self.home / "patroni.json")], self.home / "log")

    def kill(self) -> None:
        """Kill Patroni and every process of PostgreSQL with SIGKILL, as the loss of the machine does."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)  # so that Patroni does not notice the end of PostgreSQL
        for pid in self._database_processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        if self._process is not None:
            end(self._process)
        for pid in self._database_processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def cut_replication(self) -> None:
        """End the process that receives the log of the primary, twice: PostgreSQL waits five seconds before the third.

        A frozen process would not do: it reads what the socket still holds when it continues.
        """
        first = self._receiver()
        if first is not None:
            os.kill(first, signal.SIGTERM)
            wait_for(lambda: self._receiver() not in (None, first), "the next receiver of the log")
        if (second := self._receiver()) is not None:
            os.kill(second, signal.SIGTERM)

    def _receiver(self) -> int | None:
        return next((pid for pid in self._database_processes() if b"walreceiver" in _command_line(pid)), None)

    def rest(self, path: str, body: bytes | None = None, *, timeout: float = 2) -> bytes:
        """Call the REST interface of Patroni. Raises OSError if it does not answer, or answers no."""
        return request(f"http://127.0.0.1:{self.ports.rest}/{path}", body, timeout=timeout)

    @property
    def is_primary(self) -> bool:
        try:
            self.rest("primary")
        except OSError:
            return False
        return True

    @property
    def is_streaming(self) -> bool:
        try:
            status: dict[str, Any] = json.loads(self.rest("patroni"))
        except OSError:
            return False
        return status.get("state") in ("running", "streaming") and status.get("role") == "replica"

    def _database_processes(self) -> list[int]:
        """The postmaster and its children. The file is missing before the first start."""
        try:
            postmaster = int((self.home / "data" / "postmaster.pid").read_text().split()[0])
            children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        except (OSError, IndexError):
            return []
        return [postmaster, *map(int, children)]


class Cluster:
    """Three nodes behind HAProxy."""

    def __init__(self, home: Path, nodes: list[Node], proxy: int) -> None:
        self.home = home
        self.nodes = nodes
        self._proxy = proxy

    @property
    def proxy_address(self) -> str:
        """The address of the store through HAProxy."""
        return f"postgresql://postgres@127.0.0.1:{self._proxy}/{DATABASE}?connect_timeout=3"

    @property
    def hosts_address(self) -> str:
        """The address of the store with all nodes: libpq finds the one that accepts writes."""
        hosts = ",".join(f"127.0.0.1:{node.ports.database}" for node in self.nodes)
        return f"postgresql://postgres@{hosts}/{DATABASE}?target_session_attrs=read-write&connect_timeout=3"

    def primary(self) -> Node | None:
        return next((node for node in self.nodes if node.is_primary), None)

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(self.hosts_address, autocommit=True)

    def wait_until_complete(self, *, synchronous: bool) -> None:
        """Wait until one node is the primary and all others follow it, one of them synchronously if that is asked."""
        wait_for(lambda: self.primary() is not None, "a primary")
        standbys = NODES - 1
        wait_for(lambda: sum(node.is_streaming for node in self.nodes) == standbys, "the standbys")
        wait_for(lambda: self._streaming(synchronous) >= standbys, "replication")

    def _streaming(self, synchronous: bool) -> int:
        """The number of standbys that the primary sends its log to; 0 if none of them is synchronous but should be."""
        try:
            with self.connect() as connection:
                rows = connection.execute("select state, sync_state from pg_stat_replication").fetchall()
        except psycopg.OperationalError:
            return 0
        states = [sync for state, sync in rows if state == "streaming"]
        return len(states) if not synchronous or "sync" in states else 0

    def switch_over(self) -> None:
        """Ask Patroni for an orderly change of the primary, and wait for it."""
        before = self.primary()
        assert before is not None
        body = json.dumps({"leader": before.name}).encode()
        before.rest("switchover", body, timeout=60)
        wait_for(lambda: (now := self.primary()) is not None and now is not before, "the switchover")


@contextmanager
def running_cluster(*, synchronous: bool) -> Generator[Cluster]:
    """A new cluster until the end of the block."""
    home = Path(tempfile.mkdtemp(prefix="holdfast-ha-"))
    home.chmod(0o755)
    binaries = _binaries()
    nodes = [Node(home / f"node{n}", NodePorts(f"node{n}", free_port(), free_port())) for n in range(1, NODES + 1)]
    etcd, peers, proxy = free_port(), free_port(), free_port()
    with ExitStack() as running:
        running.callback(shutil.rmtree, home, ignore_errors=True)
        for folder in (home / "etcd", home / "haproxy", *(node.home for node in nodes)):
            folder.mkdir()
        for node in nodes:
            text = patroni(node.ports, node.home, binaries, etcd, synchronous=synchronous)
            (node.home / "patroni.json").write_text(text)
        (home / "haproxy" / "haproxy.cfg").write_text(haproxy(proxy, [node.ports for node in nodes]))
        _give(home)
        running.callback(end, _etcd(home / "etcd", etcd, peers))
        for node in nodes:
            running.callback(node.stop)
            node.start()
        command = [program("haproxy"), "-db", "-f", str(home / "haproxy" / "haproxy.cfg")]
        running.callback(end, spawn(command, home / "haproxy" / "log"))
        cluster = Cluster(home, nodes, proxy)
        try:
            cluster.wait_until_complete(synchronous=synchronous)
        except TimeoutError as error:
            raise RuntimeError(f"{error}\n{(nodes[0].home / 'log').read_text()[-3000:]}") from error
        yield cluster


def program(name: str) -> str:
    """The path of a program. Debian puts haproxy into a folder that is not on every PATH."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if found is None:
        raise Missing(f"{name} is not installed: make ha installs it as root, from Debian's packages")
    return found


def _binaries() -> Path:
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    if not installed:
        raise Missing("PostgreSQL is not installed: make ha installs it as root, from Debian's packages")
    return installed[-1]


def _etcd(home: Path, clients: int, peers: int) -> subprocess.Popen[bytes]:
    client, peer = f"http://127.0.0.1:{clients}", f"http://127.0.0.1:{peers}"
    options = {
        "name": "etcd",
        "data-dir": str(home / "data"),
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"etcd={peer}",
    }
    command = [program("etcd"), *(f"--{name}={value}" for name, value in options.items())]
    process = spawn(command, home / "log")

    def healthy() -> bool:
        try:
            return b"true" in request(f"{client}/health", timeout=1)
        except OSError:
            return False

    wait_for(healthy, "etcd")
    return process


def _give(home: Path) -> None:
    """Give all files to the user of the servers."""
    user = owner()
    if user is not None:
        for path in (home, *home.rglob("*")):
            os.chown(path, user.pw_uid, user.pw_gid)


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
