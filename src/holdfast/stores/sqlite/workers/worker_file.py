"""The worker file: `<file>-workers`, a small SQLite database beside the file of the store.

A worker reports itself twice a minute, also while nothing else happens. In the file of the store, each report would be
a commit: it would wake the file watch of every other process, and wait for a transaction of the application. The watch
does not observe this file, so a report wakes no process, and no report waits for the store.

The content is worthless after two minutes. So commits do not wait for the disk, and a damaged file is replaced. The
journal stays in place between two commits: creating and deleting it would cause events of the watched directory.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from holdfast.core.clock import Micros
from holdfast.core.worker_record import GONE_AFTER, PRUNED_AFTER, WorkerRecord
from holdfast.engine.operations import ReportWorker, WorkerReport
from holdfast.errors import NotPermitted, StoreUnavailable
from holdfast.stores.sql.files import Statements
from holdfast.stores.sql.plan import Row
from holdfast.stores.sqlite.connection import file_checks
from holdfast.stores.sqlite.errors import NEEDED, code

SQL: Final = Statements("holdfast.stores.sqlite.workers.sql")

R = TypeVar("R")

_TIMEOUT = 5.0
"""Seconds to wait for another process. Each holds the file for less than a millisecond."""
_DAMAGED = (11, 26)
"""SQLITE_CORRUPT and SQLITE_NOTADB."""


class WorkerFile:
    """The worker file of the store at `path`. Each operation opens and closes it: there are few."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(f"{path.name}-workers")

    def report(self, op: ReportWorker, now: Micros) -> WorkerReport:
        worker = replace(op.worker, started_at=op.worker.started_at or now)
        row = {
            "id": worker.id,
            "host": worker.host,
            "pid": worker.pid,
            "types": msgspec.json.encode(worker.types).decode(),
            "concurrency": worker.concurrency,
            "registry": worker.registry,
            "details": worker.details,
            "started_at": worker.started_at,
            "now": now,
            "draining": worker.draining,
        }

        def write(connection: sqlite3.Connection) -> WorkerReport:
            connection.execute(SQL["create_worker"])
            connection.execute(SQL["prune_workers"], {"before": now - PRUNED_AFTER})
            connection.execute(SQL["report_worker"], row)
            found = connection.execute(SQL["is_draining"], {"id": worker.id, "started_at": worker.started_at})
            draining = any(flag for (flag,) in found.fetchall())
            return WorkerReport(worker.started_at, draining or worker.draining)

        return self._write(write)

    def remove(self, worker_id: str, started_at: Micros) -> None:
        if self._path.exists():
            self._write(
                lambda connection: connection.execute(SQL["remove_worker"], {"id": worker_id, "started_at": started_at})
            )

    def drain(self, worker_id: str, now: Micros) -> bool:
        """Set the flag. False if no live worker has this id."""
        if not self._path.exists():
            return False
        row = {"id": worker_id, "since": now - GONE_AFTER}
        return self._write(lambda connection: connection.execute(SQL["drain_worker"], row)).rowcount > 0

    def live(self, now: Micros) -> list[WorkerRecord]:
        """The live workers, in the order of their start. Their jobs are not counted here."""
        if not self._path.exists():
            return []
        with self._connected() as connection, _missing_table_is_empty():
            rows = connection.execute(SQL["get_workers"], {"since": now - GONE_AFTER}).fetchall()
            return [_worker(row) for row in rows]
        return []

    def _write(self, action: Callable[[sqlite3.Connection], R]) -> R:
        try:
            return self._write_once(action)
        except sqlite3.DatabaseError as error:
            if code(error) & 0xFF not in _DAMAGED:
                raise
        # Other processes open the file for each operation, so they find the new one.
        for path in (self._path, self._path.with_name(f"{self._path.name}-journal")):
            path.unlink(missing_ok=True)
        return self._write_once(action)

    def _write_once(self, action: Callable[[sqlite3.Connection], R]) -> R:
        with self._connected() as connection:
            connection.execute("pragma journal_mode=persist")
            connection.execute("pragma synchronous=off")
            connection.execute("begin immediate")
            answer = action(connection)
            connection.execute("commit")
            return answer

    @contextmanager
    def _connected(self) -> Generator[sqlite3.Connection]:
        try:
            file = file_checks.prepare(self._path)
        except PermissionError as error:
            raise NotPermitted(f"sqlite:///{self._path}", str(error), NEEDED) from error
        except (OSError, ValueError) as error:
            raise StoreUnavailable(f"sqlite:///{self._path}", str(error)) from error
        address = f"file:{quote(str(file))}?mode=rw"
        connection = sqlite3.connect(address, uri=True, timeout=_TIMEOUT, isolation_level=None, check_same_thread=False)
        try:
            yield connection
        finally:
            connection.close()


class NoWorkerFile(WorkerFile):
    """For a database in memory: only its own process could read the rows."""

    def __init__(self) -> None:
        super().__init__(Path("memory"))

    def report(self, op: ReportWorker, now: Micros) -> WorkerReport:
        return WorkerReport(op.worker.started_at or now, op.worker.draining)

    def remove(self, worker_id: str, started_at: Micros) -> None:
        """Nothing is stored."""

    def drain(self, worker_id: str, now: Micros) -> bool:
        return False

    def live(self, now: Micros) -> list[WorkerRecord]:
        return []


def _worker(row: Row) -> WorkerRecord:
    id, host, pid, types, concurrency, registry, details, started_at, seen_at, draining = row
    names = msgspec.json.decode(types, type=tuple[str, ...])
    return WorkerRecord(id, host, pid, names, concurrency, registry, details, started_at, seen_at, bool(draining))


@contextmanager
def _missing_table_is_empty() -> Generator[None]:
    """Ignore a missing table, which the first worker creates later, and a damaged file, which is replaced."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):
            raise
    except sqlite3.DatabaseError as error:
        if code(error) & 0xFF not in _DAMAGED:
            raise
