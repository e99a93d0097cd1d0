"""Writers and checkpoints on one SQLite file, synchronised to the worst moment: is a commit lost?

    python -m tests.stores.sqlite.wal_stress --seconds 20 --processes 2 --discipline off --directory /dev/shm

One process does nothing but checkpoint; the others write numbered rows, checkpoint too, and note each commit in a
file of their own. The moment that the WAL-reset bug needs is a few nanoseconds long, so writers stop the
checkpointing process (SIGSTOP) before they write and continue it afterwards: sometimes it is stopped at that moment.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from enum import StrEnum
from multiprocessing.synchronize import Event, Semaphore
from pathlib import Path
from typing import NamedTuple

from holdfast.stores.sqlite.wal.checkpoint import checkpoint

PADDING = 60
"""Pages that every other transaction rewrites, so that the log it leaves is longer than the one that follows."""


class Discipline(StrEnum):
    ON = "on"
    """All checkpoints are made by `checkpoint`."""
    OFF = "off"
    """As SQLite does by itself, only more often: after each commit, and in the checkpointing process."""
    FOREIGN = "foreign"
    """The writers use `checkpoint`; another process does not."""


class Outcome(NamedTuple):
    version: str
    acknowledged: int
    complaints: list[str]
    """What was found missing or broken. Empty: every acknowledged row is there and the file is whole."""


def stress(directory: Path, discipline: Discipline, *, seconds: float, processes: int) -> Outcome:
    """Run `processes` on a new file in `directory`, then check the file. Ends at the first loss."""
    path = directory / "stress.db"
    with closing(_connect(path)) as connection:
        connection.execute("pragma journal_mode=wal")
        connection.execute("create table row (writer, n, primary key (writer, n)) without rowid")
        connection.execute("create table padding (id integer primary key, n, filler)")
        connection.executemany("insert into padding values (?, 0, ?)", [(i, "x" * 3000) for i in range(PADDING)])
    context = multiprocessing.get_context("spawn")
    ready, over = context.Semaphore(0), context.Event()
    checkpointing = context.Process(target=_checkpoint_on_and_on, args=(path, discipline, over))
    checkpointing.start()
    writers = [
        context.Process(target=_write, args=(path, name, discipline, checkpointing.pid, ready, over))
        for name in range(processes - 1)
    ]
    for writer in writers:
        writer.start()
    for _ in writers:
        # On a busy machine an interpreter starts slowly. That time does not count.
        while not ready.acquire(timeout=0.002):
            os.kill(checkpointing.pid or 0, signal.SIGCONT)
    deadline = time.monotonic() + seconds
    # A stopped process may hold a lock, and the process that stopped it may wait for that lock.
    while not over.wait(0.002) and time.monotonic() < deadline:
        os.kill(checkpointing.pid or 0, signal.SIGCONT)
    over.set()
    for writer in writers:
        while writer.is_alive():
            os.kill(checkpointing.pid or 0, signal.SIGCONT)
            writer.join(0.002)
    checkpointing.join()
    return _verify(path, range(processes - 1))


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    connection.execute("pragma synchronous=full")
    connection.execute("pragma wal_autocheckpoint=0")
    return connection


def _checkpoint_on_and_on(path: Path, discipline: Discipline, over: Event) -> None:
    with closing(_connect(path)) as lock, closing(_connect(path)) as copier:
        while not over.is_set():
            if discipline is Discipline.ON:
                checkpoint(lock, copier)
            else:
                # Many in a row: asking for the event takes far longer than a checkpoint that finds nothing to do.
                for _ in range(50):
                    copier.execute("pragma wal_checkpoint(passive)").fetchall()


def _write(path: Path, name: int, discipline: Discipline, checkpointing: int, ready: Semaphore, over: Event) -> None:
    chance = random.Random(name)
    with (
        closing(_connect(path)) as connection,
        closing(_connect(path)) as other,
        _acknowledged(path, name).open("w", buffering=1) as acknowledged,
    ):
        n = 0

        def commit(*, long: bool = False) -> None:
            nonlocal n
            connection.execute("begin immediate")
            connection.execute("insert into row values (?, ?)", [name, n + 1])
            if long:
                connection.execute("update padding set n = n + 1")
            connection.execute("commit")
            n += 1
            acknowledged.write(f"{n}\n")

        try:
            commit()
            ready.release()
            while not over.is_set():
                commit(long=True)
                if discipline is Discipline.OFF:
                    other.execute("pragma wal_checkpoint(passive)").fetchall()
                else:
                    checkpoint(connection, other)
                # All is copied now, and the checkpointing process finds nothing to do, again and again.
                _spin(chance.random() * 1e-4)
                os.kill(checkpointing, signal.SIGSTOP)
                commit()
                os.kill(checkpointing, signal.SIGCONT)
                _spin(5e-5)
                for _ in range(3):
                    commit()
                # Read by the other connection: the cache of the one that wrote may contain rows that the file has lost.
                [(seen,)] = other.execute("select max(n) from row where writer = ?", [name]).fetchall()
                if seen != n:
                    raise LookupError(f"writer {name} committed row {n} and now sees {seen} as its last")
        except (LookupError, sqlite3.Error) as error:
            acknowledged.write(f"{error}\n")
            over.set()


def _spin(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def _verify(path: Path, names: range) -> Outcome:
    complaints: list[str] = []
    total = 0
    with closing(_connect(path)) as connection:
        for name in names:
            lines = _acknowledged(path, name).read_text().splitlines()
            promised = {int(line) for line in lines if line.isdigit()}
            complaints += [line for line in lines if not line.isdigit()]
            total += len(promised)
            try:
                found = {n for (n,) in connection.execute("select n from row where writer = ?", [name])}
                [(verdict,)] = connection.execute("pragma integrity_check(1)").fetchall()
            except sqlite3.DatabaseError as error:
                complaints.append(f"reading writer {name}'s rows: {error}")
                continue
            if missing := promised - found:
                complaints.append(f"{len(missing)} acknowledged rows of writer {name} are missing: {min(missing)}...")
            if verdict != "ok":
                complaints.append(verdict)
    return Outcome(sqlite3.sqlite_version, total, complaints)


def _acknowledged(path: Path, name: int) -> Path:
    return path.with_name(f"acknowledged-{name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--discipline", type=Discipline, default=Discipline.ON, choices=list(Discipline))
    parser.add_argument("--directory", type=Path, help="where the file is made; a disk and a memory disk differ")
    args = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=args.directory) as directory:
        outcome = stress(Path(directory), args.discipline, seconds=args.seconds, processes=args.processes)
    sys.stdout.write(
        f"SQLite {outcome.version}, discipline {args.discipline}: {outcome.acknowledged} rows acknowledged "
        f"in {time.monotonic() - began:.1f} s\n"
    )
    for complaint in outcome.complaints:
        sys.stdout.write(f"  {complaint}\n")
    return 1 if outcome.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
