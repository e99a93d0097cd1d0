"""SQLite's limit: sqlite3, claims and completions in batches, every write fenced by a token and synced to disk."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Sequence
from uuid import uuid4

from benchmarks.contender import About, Contender, Unsupported, fan_of
from benchmarks.ticks import lap, tick

BATCH = 500
TYPES = ("touch", "call", "add", "write", "first", "second", "third", "part", "gather")
LOADED = {"plain": "add", "transactional": "write", "chain": "first"}
NEXT = {"first": "second", "second": "third"}
POLL = 0.001
SCHEMA = """
create table job (
    seq integer primary key, id text unique, type text, status text, priority integer, scheduled_at integer, token text,
    input blob, output blob, dependent text, blockers integer);
create index due on job (type, priority desc, scheduled_at, seq) where status = 'pending';
create index running on job (type) where status = 'running';
create index dependent on job (dependent) where dependent is not null;
create table benchmark_write (number integer);
"""
INSERT = """
insert into job (id, type, status, priority, scheduled_at, input, dependent) values (?, ?, 'pending', 0, ?, ?, ?)
"""
INSERT_BLOCKED = """
insert into job (id, type, status, priority, scheduled_at, input, blockers) values (?, 'gather', 'blocked', 0, ?, ?, ?)
"""
UNBLOCK = """
update job set blockers = blockers - ?1, status = case when blockers = ?1 then 'pending' else status end
 where id = ?2 and status = 'blocked'
"""
CLAIM = """
update job set status = 'running', token = ?
 where seq in (select seq from job where type = ? and status = 'pending' and scheduled_at <= ?
                order by priority desc, scheduled_at, seq limit ?)
returning seq, input, id, dependent
"""
OUTPUTS = "select output from job where dependent = ? order by seq"
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

    def load(self, kind: str, numbers: Sequence[int]) -> int:
        if kind.startswith("fan-in"):
            return self._fan(numbers, fan_of(kind))
        if kind not in LOADED:
            raise Unsupported(f"no {kind} jobs")
        self._insert(LOADED[kind], numbers)
        return len(numbers) * (3 if kind == "chain" else 1)

    def _fan(self, numbers: Sequence[int], fan: int) -> int:
        """Jobs that one job waits for, written in one transaction with it."""
        for begin in range(0, len(numbers), fan):
            part, gather, now = numbers[begin : begin + fan], str(uuid4()), int(time.time() * 1e6)
            self._connection.execute("begin immediate")
            self._connection.execute(INSERT_BLOCKED, (gather, now, _payload(0), len(part)))
            self._connection.executemany(INSERT, _rows("part", part, gather))
            self._connection.execute("commit")
        return len(numbers) + -(-len(numbers) // fan)

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
        query = "select count(*) from job where status in ('pending', 'running', 'blocked')"
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
        rows = _rows(type, numbers)
        self._connection.execute("begin immediate")
        self._connection.executemany(INSERT, rows)
        self._connection.execute("commit")
        return [id for id, *_ in rows]

    def _batch(self, type: str, size: int) -> bool:
        token = uuid4().hex
        now = int(time.time() * 1e6)
        self._connection.execute("begin immediate")
        rows = self._connection.execute(CLAIM, (token, type, now, size)).fetchall()
        self._connection.execute("commit")
        for part in [rows] if type != "write" else [[row] for row in rows]:
            outputs = [(self._handle(type, payload, id), seq, token) for seq, payload, id, _ in part]
            self._connection.execute("begin immediate")
            if type == "write":
                self._connection.execute("insert into benchmark_write values (?)", [part[0][0]])
            self._connection.executemany(COMPLETE, outputs)
            if type in NEXT:
                self._connection.executemany(INSERT, _rows(NEXT[type], [int(output) for output, _, _ in outputs]))
            elif type == "part":
                waiting = Counter(dependent for _, _, _, dependent in part)
                self._connection.executemany(UNBLOCK, [(number, id) for id, number in waiting.items()])
            self._connection.execute("commit")
        return bool(rows)

    def _handle(self, type: str, payload: str, id: str) -> str:
        output = _handle(type, payload)
        if type != "gather":
            return output
        return str(sum(int(each) for (each,) in self._connection.execute(OUTPUTS, [id])))


class SqliteNormalLimit(SqliteLimit):
    """With synchronous=normal: a power failure may undo the last commits."""

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


def _rows(
    type: str, numbers: Sequence[int], dependent: str | None = None
) -> list[tuple[str, str, int, str, str | None]]:
    now = int(time.time() * 1e6)
    return [(str(uuid4()), type, now, _payload(number), dependent) for number in numbers]


def _payload(number: int) -> str:
    return json.dumps({"number": number})
