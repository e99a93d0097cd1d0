"""A private PostgreSQL for tests: its own data, socket and port, removed at the end."""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

from tests.servers.ports import free_port
from tests.servers.postgres_binaries import find_binaries, server_user
from tests.servers.until_exit import until_exit

START_SECONDS = 60.0
SETTINGS = {
    # The data is deleted afterwards, so commits need not wait for the disk.
    "fsync": "off",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "unix_socket_permissions": "0777",
    "log_min_messages": "fatal",
    "max_prepared_transactions": "4",
    "timezone": "UTC",
}


class Postgres:
    """A server that was started for tests and can be stopped, restarted and killed."""

    def __init__(self, home: Path, binaries: Path, port: int, owner: pwd.struct_passwd | None) -> None:
        self.home = home
        self.binaries = binaries
        self.port = port
        self._owner = owner
        self._process: subprocess.Popen[Any] | None = None

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def pid(self) -> int | None:
        """The process id of the postmaster; None after it has ended."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def address(self, *, database: str = "postgres", user: str = "postgres", **options: str) -> str:
        """Where it listens, as a store's address."""
        query = "&".join(f"{name}={value}" for name, value in {"host": str(self.home), **options}.items())
        return f"postgresql://{user}@:{self.port}/{database}?{query}"

    def tcp_address(self, *, port: int | None = None, user: str = "postgres", **options: str) -> str:
        """The same over TCP; `port` may be that of a proxy."""
        query = "&".join(f"{name}={value}" for name, value in options.items())
        return f"postgresql://{user}@127.0.0.1:{port or self.port}/postgres?{query}"

    def connect(self, database: str = "postgres", user: str = "postgres") -> psycopg.Connection:
        """A connection of the test's own, in autocommit."""
        return psycopg.connect(
            host=str(self.home), port=self.port, user=user, dbname=database, autocommit=True, connect_timeout=10
        )

    def create(self, **settings: str) -> None:
        arguments = ["-D", str(self.data), "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"]
        subprocess.run([self._binary("initdb"), *arguments], check=True, stdout=subprocess.DEVNULL, **self._identity())
        lines = [f"{name} = '{value}'" for name, value in {**SETTINGS, **settings}.items()]
        with (self.data / "postgresql.conf").open("a") as file:
            file.write("\n".join(lines) + "\n")

    def copy(self, primary: Postgres) -> None:
        """Make this a standby that streams from that server. It runs after `start`."""
        source = f"host={primary.home} port={primary.port} user=postgres"
        arguments = ["-D", str(self.data), "-d", source, "-R", "-c", "fast", "-X", "stream", "--no-sync"]
        subprocess.run([self._binary("pg_basebackup"), *arguments], check=True, **self._identity())

    def promote(self) -> None:
        """Promote a standby. It accepts writes when this returns."""
        with self.connect() as connection:
            connection.execute("select pg_promote(true, 30)")

    def start(self) -> None:
        where = ["-p", str(self.port), "-k", str(self.home), "-h", "127.0.0.1"]
        with (self.home / "log").open("ab") as log:
            command = [self._binary("postgres"), "-D", str(self.data), *where]
            process = subprocess.Popen(command, stdout=log, stderr=log, text=False, **self._identity())
        self._process = process
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.connect().close()
                return
            except psycopg.OperationalError as error:
                if time.monotonic() > deadline or process.poll() is not None:
                    raise RuntimeError(f"no server: {(self.home / 'log').read_text()[-2000:]}") from error
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """SIGQUIT is the immediate stop, a crash; SIGINT the fast one; SIGTERM waits for all clients.

        One that has not ended after that is killed, its children too: on a busy machine the shutdown may take too long.
        """
        if self._process is not None:
            self._process.send_signal(how)
            try:
                self._process.wait(timeout=START_SECONDS)
            except subprocess.TimeoutExpired:
                self._kill_all(self._process)
            self._process = None

    @staticmethod
    def _kill_all(process: subprocess.Popen[Any]) -> None:
        # By their parent: each of the server's processes makes a group of its own.
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        for pid in (*map(int, children.read_text().split() if children.exists() else ()), process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()

    def restart(self, how: signal.Signals = signal.SIGQUIT) -> None:
        self.stop(how)
        self.start()

    def _binary(self, name: str) -> str:
        return str(self.binaries / name)

    def _identity(self) -> dict[str, Any]:
        if self._owner is None:
            return {"preexec_fn": _end_with_parent}
        return {
            "preexec_fn": _end_with_parent,
            "user": self._owner.pw_uid,
            "group": self._owner.pw_gid,
            "extra_groups": [],
            "cwd": str(self.home),
        }


@contextmanager
def running_postgres(
    binaries: Path | None = None, *, where: Path | None = None, **settings: str
) -> Generator[Postgres]:
    """A server until the end of the block, with its files in this folder."""
    with _placed(binaries or find_binaries(), where) as server:
        server.create(**settings)
        server.start()
        yield server


@contextmanager
def running_standby(primary: Postgres, *, synchronous: bool = False) -> Generator[Postgres]:
    """A standby that streams from this server, until the end of the block.

    Where it is `synchronous`, the primary acknowledges what the standby has, too.
    """
    with _placed(primary.binaries) as server:
        server.copy(primary)
        server.start()
        if synchronous:
            with primary.connect() as connection:
                connection.execute("alter system set synchronous_standby_names = '*'")
                connection.execute("select pg_reload_conf()")
                while connection.execute("select sync_state from pg_stat_replication").fetchall() != [("sync",)]:
                    time.sleep(0.02)
        yield server


@contextmanager
def _placed(binaries: Path, where: Path | None = None) -> Generator[Postgres]:
    """A server with a folder and a port, and no data yet; stopped and removed at the end."""
    home = Path(tempfile.mkdtemp(prefix="hf-pg-", dir=where))
    owner = server_user()
    if owner is not None:
        os.chown(home, owner.pw_uid, owner.pw_gid)
    home.chmod(0o755)
    server = Postgres(home, binaries, free_port(), owner)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


@cache
def shared_postgres() -> Postgres:
    """One server for the whole run, stopped when it ends."""
    # No JIT: without statistics, PostgreSQL would compile statements for longer than it runs them.
    return until_exit(running_postgres(jit="off"))


def _end_with_parent() -> None:
    """On Linux: the kernel kills the server when the test process ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)  # PR_SET_PDEATHSIG
