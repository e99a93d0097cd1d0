from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.stores.sqlite.wal.checkpoint import Checkpointed, checkpoint
from tests.stores.sqlite.wal_stress import Discipline, stress

Connect = Callable[[], sqlite3.Connection]


@pytest.fixture
def connect(tmp_path: Path) -> Generator[Connect, None, None]:
    opened: list[sqlite3.Connection] = []

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(tmp_path / "jobs.db", isolation_level=None, timeout=0, factory=Interrupted)
        opened.append(connection)
        connection.execute("pragma journal_mode=wal")
        connection.execute("pragma wal_autocheckpoint=0")
        connection.execute("create table if not exists t (x)")
        return connection

    yield connect
    for connection in opened:
        connection.close()


class Interrupted(sqlite3.Connection):
    """A connection that calls a function directly before its checkpoint."""

    before_checkpoint: Callable[[], None] | None = None

    def execute(self, sql: str, /, *args: object) -> sqlite3.Cursor:
        if "wal_checkpoint" in sql and self.before_checkpoint is not None:
            self.before_checkpoint()
        return super().execute(sql, *args)  # type: ignore[arg-type]


def test_a_checkpoint_copies_the_whole_log_and_the_next_commit_restarts_it(connect: Connect) -> None:
    writer, copier = connect(), connect()
    for _ in range(10):
        writer.execute("insert into t values (1)")

    before = checkpoint(writer, copier)
    writer.execute("insert into t values (1)")
    after = checkpoint(writer, copier)

    assert before.copied == before.frames >= 10
    assert after == Checkpointed(frames=1, copied=1)


def test_no_connection_can_write_during_a_checkpoint(connect: Connect) -> None:
    writer, copier, unrelated = connect(), connect(), connect()
    refused: list[str] = []

    def write() -> None:
        with pytest.raises(sqlite3.OperationalError, match="locked") as caught:
            unrelated.execute("insert into t values (1)")
        refused.append(str(caught.value))

    assert isinstance(copier, Interrupted)
    copier.before_checkpoint = write

    checkpoint(writer, copier)
    unrelated.execute("insert into t values (2)")

    assert len(refused) == 1
    assert writer.execute("select x from t").fetchall() == [(2,)]


def test_no_checkpoint_is_made_without_the_write_lock(connect: Connect) -> None:
    writer, copier, unrelated = connect(), connect(), connect()
    made: list[str] = []
    assert isinstance(copier, Interrupted)
    copier.before_checkpoint = lambda: made.append("a checkpoint")
    unrelated.execute("begin immediate")

    with pytest.raises(sqlite3.OperationalError, match="locked"):
        checkpoint(writer, copier)

    assert made == []
    assert not writer.in_transaction


def test_a_checkpoint_stops_before_the_pages_that_a_reader_needs(connect: Connect) -> None:
    writer, copier, reader = connect(), connect(), connect()
    writer.execute("insert into t values (1)")
    with closing(reader.execute("select x from t")) as reading:
        reader.execute("begin")
        reading.execute("select x from t").fetchall()
        writer.execute("insert into t values (2)")

        held_back = checkpoint(writer, copier)

        assert held_back.copied < held_back.frames
        assert reading.execute("select x from t").fetchall() == [(1,)]
        reader.execute("commit")
    done = checkpoint(writer, copier)
    assert done.copied == done.frames


def test_a_failed_checkpoint_releases_the_write_lock(connect: Connect) -> None:
    writer, copier, unrelated = connect(), connect(), connect()

    def fail() -> None:
        raise sqlite3.OperationalError("disk I/O error")

    assert isinstance(copier, Interrupted)
    copier.before_checkpoint = fail

    with pytest.raises(sqlite3.OperationalError, match="disk I/O error"):
        checkpoint(writer, copier)

    unrelated.execute("insert into t values (1)")


@pytest.mark.parametrize("processes", [2, 3])
def test_no_acknowledged_row_is_lost_by_processes_that_write_and_checkpoint(tmp_path: Path, processes: int) -> None:
    outcome = stress(tmp_path, Discipline.ON, seconds=3, processes=processes)

    assert outcome.complaints == []
    assert outcome.acknowledged > 0
