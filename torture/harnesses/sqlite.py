"""SQLite: the audit is written by triggers."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Self

from holdfast import SyncClient
from torture.audit import COLUMNS, Change
from torture.harnesses import open_handles
from torture.harnesses.disk import Disk, own_disk
from torture.harnesses.harness import AT_ONCE, Fault, Harness, settled

_NOW = "cast((julianday('now') - 2440587.5) * 86400000000 as integer)"
_AUDITED = {
    "id": "{row}.id", "chain": "{row}.chain_id", "index": "{row}.chain_index", "type": "{row}.type",
    "before": "{old}.status", "after": "{new}.status", "attempt_before": "coalesce({old}.attempt, 0)",
    "attempt": "{row}.attempt", "max_attempts": "{row}.max_attempts", "token_before": "{old}.token",
    "token": "{new}.token", "leased_before": "{old}.leased_until", "leased_until": "{new}.leased_until",
    "scheduled_before": "{old}.scheduled_at", "scheduled_at": "{new}.scheduled_at", "worker_before": "{old}.worker",
    "worker": "{new}.worker", "key": "{row}.key", "finished_at": "{row}.finished_at", "keep": "{row}.keep",
    "priority": "{row}.priority",
}  # fmt: skip

OF_A_PROCESS = 12
"""Descriptors of the file per process: writer, checkpointer, watcher, up to four readers, and those that SQLite keeps
open while another connection of the process holds a lock."""
WRITE_LOCK = 120
"""The byte of the -shm file that a writer locks (WAL_WRITE_LOCK)."""


def audited(row: str, old: str | None, new: str | None) -> list[str]:
    """The values of an audit row in the order of its columns, for a trigger with these row names."""
    values: list[str] = []
    for column in COLUMNS:
        template = _AUDITED[column]
        missing = (old is None and "{old}" in template) or (new is None and "{new}" in template)
        default = "0" if column == "attempt_before" else "null"
        values.append(default if missing else template.format(row=row, old=old, new=new))
    return values


def _trigger(event: str, row: str, old: str | None, new: str | None) -> str:
    values = ", ".join(audited(row, old, new))
    columns = ", ".join(f'"{column}"' for column in COLUMNS)
    note = f"insert into torture_audit (at, {columns}) values ({_NOW}, {values})"  # noqa: S608 - our own columns
    return f"create trigger torture_{event} after {event} on holdfast_job begin {note}; end"


class SqliteHarness(Harness):
    """A database file, on a separate disk if the user may mount one."""

    own_clock = False
    replaceable = True

    def __init__(self, folder: Path, disk: Disk | None, name: str = "jobs.db") -> None:
        self.folder = folder
        self.path = folder / name
        self.url = self.direct = f"sqlite:///{self.path}"
        self.neighbour = f"sqlite:///{folder / 'neighbour.db'}"
        self.versions = {"sqlite": sqlite3.sqlite_version}
        self._disk = disk

    @classmethod
    def at(cls, path: Path) -> Self:
        return cls(path.parent, None, path.name)

    def create(self) -> None:
        with SyncClient(self.url):
            pass
        columns = ", ".join(f'"{column}"' for column in COLUMNS)
        with closing(self._connect()) as connection:
            connection.execute(
                f"create table torture_audit (seq integer primary key autoincrement, at integer, {columns})"
            )
            connection.execute("create table torture_ledger (job text, attempt integer, token text)")
            connection.execute("create table torture_step_ledger (job text, name text, id text, token text)")
            connection.execute("create table torture_business (id text)")
            connection.execute("create table torture_filler (what blob)")
            connection.execute(_trigger("insert", "new", None, "new"))
            connection.execute(_trigger("update", "new", "old", "new"))
            connection.execute(_trigger("delete", "old", "old", None))

    def audit(self) -> list[Change]:
        columns = ", ".join(f'"{column}"' for column in COLUMNS)
        with closing(self._connect()) as connection:
            rows = connection.execute(f"select seq, at, {columns} from torture_audit order by seq")  # noqa: S608
            return [Change(**dict(zip(("seq", "at", *COLUMNS), row, strict=True))) for row in rows]

    def ledger(self) -> list[tuple[str, int, str]]:
        with closing(self._connect()) as connection:
            return connection.execute("select job, attempt, token from torture_ledger").fetchall()

    def step_ledger(self) -> list[tuple[str, str, str, str]]:
        with closing(self._connect()) as connection:
            return connection.execute("select job, name, id, token from torture_step_ledger").fetchall()

    def business(self) -> list[str]:
        with closing(self._connect()) as connection:
            return [id for (id,) in connection.execute("select id from torture_business")]

    def holder(self) -> int | None:
        """From /proc/locks: the write lock is a byte of the -shm file."""
        shared = self.path.with_name("jobs.db-shm")
        if not shared.exists():
            return None
        inode = shared.stat().st_ino
        for line in Path("/proc/locks").read_text().splitlines():
            # 1: POSIX  ADVISORY  WRITE 4711 00:2a:17 120 120
            fields = line.split()
            ours = fields[-5] == "WRITE" and fields[-3].endswith(f":{inode}")
            if ours and int(fields[-2]) <= WRITE_LOCK <= int(fields[-1].replace("EOF", str(1 << 62))):
                return int(fields[-4])
        return None

    def faults(self) -> list[Fault]:
        faults = [
            Fault("pinned snapshot", self._pin, outage=False, longest=2.0),
            Fault("write lock held", self._hold, longest=1.5, recovery=AT_ONCE),
        ]
        if self._disk is not None:
            faults.append(Fault("disk full", self._fill, longest=1.0))
        return faults

    def _pin(self, seconds: float) -> bool:
        """A long read transaction: checkpoints cannot complete."""
        with closing(self._connect()) as connection:
            connection.execute("begin")
            connection.execute("select count(*) from holdfast_job").fetchone()
            time.sleep(seconds)
        return True

    def _hold(self, seconds: float) -> bool:
        """A long write transaction of another process."""
        with closing(self._connect(3.0)) as connection:
            try:
                connection.execute("begin immediate")
            except sqlite3.OperationalError:
                return False  # other writers held the lock all the time
            time.sleep(seconds)
            connection.execute("rollback")
        return True

    def _fill(self, seconds: float) -> bool:
        assert self._disk is not None
        try:
            return self._disk.be_full(seconds, self._refuses)
        finally:
            with closing(self._connect()) as connection:
                connection.execute("delete from torture_filler")

    def _refuses(self) -> bool:
        """Whether the file and its WAL cannot grow."""
        with closing(self._connect(1.0)) as connection:
            try:
                # Large, so that the allocated space of the WAL is used up too.
                connection.execute("insert into torture_filler values (zeroblob(1048576))")
            except sqlite3.OperationalError as error:
                return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
        return False

    def at_rest(self, pids: Callable[[], list[int]]) -> dict[str, Any]:
        return settled(lambda: self._held(pids()))

    def _held(self, pids: list[int]) -> dict[str, Any]:
        held = open_handles.files(pids, self.path)
        most = max(held.values(), default=0)
        return {
            "at rest: processes": len(held),
            "at rest: the file open": sum(held.values()),
            "at rest: most often by a process": most,
            "at rest: allowed to one": OF_A_PROCESS,
            "left: open files of a process beyond its connections": max(0, most - OF_A_PROCESS),
        }

    def leaks(self) -> dict[str, object]:
        with closing(self._connect()) as connection:
            (whole,) = connection.execute("pragma integrity_check").fetchone()
        log = self.path.with_name("jobs.db-wal")
        return {"left: damage": "" if whole == "ok" else whole, "log bytes": log.stat().st_size if log.exists() else 0}

    def _connect(self, timeout: float = 10.0) -> sqlite3.Connection:
        """Without checkpoints: those of another process may lose commits, a bug of SQLite (decision 0002)."""
        connection = sqlite3.connect(self.path, timeout=timeout, isolation_level=None)
        connection.execute("pragma wal_autocheckpoint=0")
        return connection


@contextmanager
def sqlite_harness(folder: Path, durability: str) -> Generator[Harness]:
    with own_disk() as disk:
        where = disk.path if disk is not None else folder / "disk"
        where.mkdir(exist_ok=True)
        harness = SqliteHarness(where, disk)
        harness.create()
        yield harness
