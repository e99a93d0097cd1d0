"""PostgreSQL: a private server behind the proxy; the audit is written by a trigger."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGQUIT, Signals
from typing import Any

import psycopg

from holdfast.stores.postgres import PostgresStore
from tests.servers.postgres import START_SECONDS, Postgres, running_postgres
from torture.audit import COLUMNS, Change
from torture.harnesses import open_handles
from torture.harnesses.disk import Disk, limited, own_disk
from torture.harnesses.harness import AT_ONCE, Fault, Harness, settled
from torture.harnesses.host_loss import lose_host
from torture.harnesses.proxy_faults import proxy_faults
from torture.harnesses.sqlite import audited
from torture.proxy import Proxy

MOST_CONNECTIONS = 90
"""Below the default limit of the server, 100: pools are sized so that a whole run needs no more."""
POOL = 3
OF_A_PROCESS = 4 * POOL + 2
"""Four pools (verbs and transactions, async and blocking), one connection for renewals, one for LISTEN."""
LARGEST_WHEN_FULL = 1 << 20
LOOKING = 2.0
"""Seconds to find rows that can be locked."""
_COLUMNS = ", ".join(f'"{column}"' for column in COLUMNS)
_AUDIT = f"""
create schema torture;
create table torture.ledger (job text, attempt bigint, token text);
create table torture.step_ledger (job text, name text, id text, token text);
create table torture.business (id text);
create table torture.filler (number bigint);
create table torture.audit (
    seq bigint generated always as identity primary key, at bigint not null, tx text not null,
    id text, chain text, "index" bigint, type text, before text, after text, attempt_before bigint, attempt bigint,
    max_attempts bigint, token_before text, token text, leased_before bigint, leased_until bigint,
    scheduled_before bigint, scheduled_at bigint, worker_before text, worker text, key text, finished_at bigint,
    keep bigint, priority bigint);
create function torture.note() returns trigger language plpgsql as $$
declare
    now bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
    tx text := pg_current_xact_id()::text;
begin
    if tg_op = 'INSERT' then
        insert into torture.audit (at, tx, {_COLUMNS}) values (now, tx, {", ".join(audited("new", None, "new"))});
    elsif tg_op = 'UPDATE' then
        insert into torture.audit (at, tx, {_COLUMNS}) values (now, tx, {", ".join(audited("new", "old", "new"))});
    else
        insert into torture.audit (at, tx, {_COLUMNS}) values (now, tx, {", ".join(audited("old", "old", None))});
    end if;
    return null;
end $$;
create trigger torture after insert or update or delete on holdfast.job for each row execute function torture.note();
"""  # noqa: S608 - our own columns


class PostgresHarness(Harness):
    """A server that can be crashed, whose connections can be terminated, and whose network can fail."""

    def __init__(self, server: Postgres, proxy: Proxy, disk: Disk | None) -> None:
        self.server = server
        self.proxy = proxy
        self._disk = disk
        options: dict[str, Any] = {"sslmode": "disable", "gssencmode": "disable", "deadline": "5", "pool": str(POOL)}
        self.url = server.tcp_address(port=proxy.port, **options)
        self.direct = server.tcp_address(**options)
        self.neighbour = server.tcp_address(schema="neighbour", **options)
        self._random = random.Random(server.port)
        self._new_log = False
        with closing(server.connect()) as connection:
            self.versions = {"postgres": str(connection.info.server_version)}

    def create(self) -> None:
        PostgresStore(self.direct).migrate_sync()
        PostgresStore(self.neighbour).migrate_sync()
        with closing(self.server.connect()) as connection:
            connection.execute(_AUDIT.encode())

    def audit(self) -> list[Change]:
        names = ("seq", "at", "tx", *COLUMNS)
        rows = self._rows(f"select seq, at, tx, {_COLUMNS} from torture.audit order by seq")  # noqa: S608
        return [Change(**dict(zip(names, row, strict=True))) for row in rows]

    def ledger(self) -> list[tuple[str, int, str]]:
        return [
            (job, attempt, token)
            for job, attempt, token in self._rows("select job, attempt, token from torture.ledger")
        ]

    def step_ledger(self) -> list[tuple[str, str, str, str]]:
        rows = self._rows("select job, name, id, token from torture.step_ledger")
        return [(job, name, id, token) for job, name, id, token in rows]

    def business(self) -> list[str]:
        return [id for (id,) in self._rows("select id from torture.business")]

    def faults(self) -> list[Fault]:
        return [
            *proxy_faults(self.proxy, b"commit"),
            Fault("backends terminated", self._terminate, recovery=AT_ONCE),
            Fault("server restart", lambda seconds: self._restart(SIGQUIT, seconds), longest=1.0),
            Fault("server kill", lambda seconds: self._restart(SIGKILL, seconds), longest=1.0),
            Fault("disk full", self._fill, longest=1.5),
            Fault("server stop fast", lambda seconds: self._restart(SIGINT, seconds), longest=0.5),
            Fault("pinned snapshot", self._pin, outage=False, longest=3.0),
            Fault("row locked by another session", self._lock, outage=False, longest=1.0),
            Fault("host lost", lambda seconds: lose_host(self.proxy, self._rows), outage=False),
        ]

    def _terminate(self, seconds: float) -> bool:
        """Terminate about half of the connections, including listeners and renewers."""
        ended = self._rows(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where pid <> pg_backend_pid() and backend_type = 'client backend' and random() < 0.5"
        )
        return any(reported for (reported,) in ended)

    def _restart(self, how: Signals, seconds: float) -> bool:
        """Stop the server and start it again. After SIGKILL of the postmaster, its children notice that later."""
        self.server.stop(how)
        time.sleep(seconds)
        self._revive()
        return True

    def _fill(self, seconds: float) -> bool:
        """No space for tables or WAL: statements fail, and the server may crash and not start again by itself."""
        try:
            if self._disk is not None:
                # The current WAL file has space to its end: in half of the cases force a new one.
                self._new_log = self._random.random() < 0.5
                return self._disk.be_full(seconds, self._refuses)
            pid = self.server.pid
            assert pid is not None
            with limited(pid, LARGEST_WHEN_FULL):
                time.sleep(seconds)
                return self._refuses()
        finally:
            self._revive()

    def _refuses(self) -> bool:
        """Whether a table cannot grow, or the server does not answer."""
        try:
            with closing(self.server.connect()) as connection:
                if self._new_log:
                    connection.execute("select pg_switch_wal()")
                connection.execute("insert into torture.filler select generate_series(1, 2000)")
        except (psycopg.OperationalError, psycopg.InternalError):
            return True
        return False

    def _revive(self) -> None:
        """Start the server if needed. A start fails while children of the old server are ending: retry."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                if self.server.pid is None:
                    self.server.start()
                self.server.connect().close()
                return
            except (RuntimeError, psycopg.OperationalError):
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    def _pin(self, seconds: float) -> bool:
        with closing(self.server.connect()) as connection:
            connection.execute("begin isolation level repeatable read")
            connection.execute("select 1")
            time.sleep(seconds)
            connection.execute("select 1")
        return True

    def _lock(self, seconds: float) -> bool:
        """Lock a few pending or running rows, as soon as there are any."""
        deadline = time.monotonic() + LOOKING
        with closing(self.server.connect()) as connection:
            connection.execute("begin")
            while not connection.execute(
                "select 1 from holdfast.job where status in ('pending', 'running') limit 3 for update skip locked"
            ).fetchall():
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.02)
            time.sleep(seconds)
        return True

    def at_rest(self, pids: Callable[[], list[int]]) -> dict[str, Any]:
        return settled(lambda: self._held(pids()))

    def _held(self, pids: list[int]) -> dict[str, Any]:
        held = open_handles.connections(pids, self.proxy.port)
        [(served, idle)] = self._rows(
            "select count(*), count(*) filter (where state like 'idle in transaction%'"
            " and state_change < clock_timestamp() - interval '1 second')"
            " from pg_stat_activity where backend_type = 'client backend' and client_addr is not null"
        )
        reported = open_handles.connections_reported(held, served=served, allowed=OF_A_PROCESS)
        return {**reported, "left: idle in transaction at rest": idle}

    def leaks(self) -> dict[str, Any]:
        waiting = (
            "select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"
        )
        left: list[int] = []
        for what in ("", " and state = 'idle in transaction'"):
            [(count,)] = self._rows(waiting + what)
            left.append(count)
        # From the log: the statistics of the server are lost in a crash.
        deadlocks = (self.server.home / "log").read_bytes().count(b"deadlock detected")
        [(dead,)] = self._rows(
            "select n_dead_tup from pg_stat_user_tables where schemaname = 'holdfast' and relname = 'job'"
        )
        return {
            "left: connections": left[0],
            "left: idle in transaction": left[1],
            "left: deadlocks": deadlocks,
            "dead rows": dead,
            "answers cut": self.proxy.cut,
            "connections made": self.proxy.accepted,
            "connections gone dead": self.proxy.dead,
            "of them hung up by their client": self.proxy.given_up,
            "connections of lost hosts": self.proxy.lost,
            "most connections": self.proxy.most,
            "connection limit": MOST_CONNECTIONS,
        }

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(self.server.connect()) as connection:
            return connection.execute(query.encode()).fetchall()


@contextmanager
def postgres_harness(folder: Path, durability: str) -> Generator[Harness]:
    with (
        own_disk() as disk,
        running_postgres(
            where=disk.path if disk else None, fsync="on", deadlock_timeout="200ms", max_connections="100",
            # A recycled WAL file needs no space: a full disk would have no effect.
            max_wal_size="128MB", wal_recycle="off", log_min_messages="error",
            log_min_error_statement="panic", log_error_verbosity="default",
        ) as server,
    ):  # fmt: skip
        proxy = Proxy(("127.0.0.1", server.port))
        try:
            harness = PostgresHarness(server, proxy, disk)
            harness.create()
            yield harness
            shutil.copy(server.home / "log", folder / "postgres.log")
        finally:
            proxy.close()
