"""SQLite's limit: sqlite3, claims and completions in batches, every write fenced by a token and synced to disk."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from uuid import uuid4

from benchmarks.contender import About, Contender
from benchmarks.ticks import lap, tick

BATCH = 500
TYPES = ("touch", "call", "add", "write")
POLL = 0.001
SCHEMA = """
create table job (
    seq integer primary key, id text unique, type text, status text, priority integer, scheduled_at integer, token text,
    input blob, output blob);
create index due on job (type, priority desc, scheduled_at, seq) where status = 'pending';
create index running on job (type) where status = 'running';
create table benchmark_write (number integer);
"""
INSERT = "insert into job (id, type, status, priority, scheduled_at, input) values (?, ?, 'pending', 0, ?, ?)"
CLAIM = """
update job set status = 'running', token = ?
 where seq in (select seq from job where type = ? and status = 'pending' and scheduled_at <= ?
                order by priority desc, scheduled_at, seq limit ?)
returning seq, input
"""
COMPLETE = "update job set status = 'completed', output = ?, token = null where seq = ? and token = ?"


class SqliteLimit(Contender):
    name = "limit: sqlite3"
    about = {  # noqa: RUF012
        "sqlite": About(
            "a table, fenced by a token; synchronous=FULL", "rows are kept", f"one connection, batches of {BATCH}"
        )
    }
    drains = (10_000, 50_000)
    starts = (1500, 50_000)
    blocking = True
    synchronous = "full"

    def setup(self) -> None:
        self.open()
        self._connection.executescript(SCHEMA)
        self.close()

    def open(self) -> None:
        self._connection = sqlite3.connect(self.place.url, isolation_level=None, timeout=30)
        self._connection.execute("pragma journal_mode = wal")
        self._connection.execute(f"pragma synchronous = {self.synchronous}")

    def close(self) -> None:
        self._connection.close()

    def start(self, number: int) -> None:
        self._insert("add", [number])

    def start_many(self, numbers: Sequence[int]) -> None:
        self._insert("add", numbers)

    def load(self, kind: str, numbers: Sequence[int]) -> None:
        if kind == "transactional":
            self._insert("write", numbers)
        else:
            super().load(kind, numbers)

    def touch(self, sent: int) -> None:
        self._insert("touch", [sent])

    def call(self, number: int) -> int:
        (id,) = self._insert("call", [number])
        while True:
            (output,) = self._connection.execute("select output from job where id = ?", [id]).fetchone()
            if output is not None:
                return int(output)
            time.sleep(POLL)

    def left(self) -> int:
        query = "select count(*) from job where status in ('pending', 'running')"
        return int(self._connection.execute(query).fetchone()[0])

    def work(self, slots: int | None) -> None:
        self.open()
        seen = None
        while True:
            (version,) = self._connection.execute("pragma data_version").fetchone()
            if version == seen:
                time.sleep(POLL)
                continue
            seen = version
            for type in TYPES:
                while self._batch(type, slots or BATCH):
                    pass

    def _insert(self, type: str, numbers: Sequence[int]) -> list[str]:
        now = int(time.time() * 1e6)
        ids = [str(uuid4()) for _ in numbers]
        rows = [(id, type, now, json.dumps({"number": number})) for id, number in zip(ids, numbers, strict=True)]
        self._connection.execute("begin immediate")
        self._connection.executemany(INSERT, rows)
        self._connection.execute("commit")
        return ids

    def _batch(self, type: str, size: int) -> bool:
        token = uuid4().hex
        now = int(time.time() * 1e6)
        self._connection.execute("begin immediate")
        rows = self._connection.execute(CLAIM, (token, type, now, size)).fetchall()
        self._connection.execute("commit")
        for part in [rows] if type != "write" else [[row] for row in rows]:
            outputs = [(_handle(type, payload), seq, token) for seq, payload in part]
            self._connection.execute("begin immediate")
            if type == "write":
                self._connection.execute("insert into benchmark_write values (?)", [part[0][0]])
            self._connection.executemany(COMPLETE, outputs)
            self._connection.execute("commit")
        return bool(rows)


class SqliteNormalLimit(SqliteLimit):
    """What a power failure may undo."""

    name = "limit: sqlite3, synchronous=normal"
    about = {  # noqa: RUF012
        "sqlite": About(
            "a table, fenced by a token; synchronous=NORMAL", "rows are kept", f"one connection, batches of {BATCH}"
        )
    }
    synchronous = "normal"
    only = frozenset({"starting"})


def _handle(type: str, payload: str) -> str:
    number = json.loads(payload)["number"]
    if type == "touch":
        lap(number)
        return "null"
    tick()
    return str(number + 1)
