"""PostgreSQL's limit: asyncpg, one connection, claims and completions in batches, every write fenced by a token."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any
from uuid import uuid4

from benchmarks.contender import About, Contender, Place, Unsupported, fan_of
from benchmarks.ticks import lap, tick

BATCH = 100
TYPES = ("touch", "call", "add", "write", "first", "second", "third", "part", "gather")
LOADED = {"plain": "add", "transactional": "write", "chain": "first"}
NEXT = {"first": "second", "second": "third"}
SCHEMA = """
create table job (
    seq bigint generated always as identity primary key, id text not null unique, type text not null,
    status text not null default 'pending', priority int not null default 0,
    scheduled_at timestamptz not null default now(), token text, leased_until timestamptz,
    attempt int not null default 0, finished_at timestamptz, input bytea not null, output bytea, dependent text,
    blockers int not null default 0
) with (fillfactor = 85);
create index job_due on job (type, priority desc, scheduled_at, seq) where status = 'pending';
create index job_dependent on job (dependent) where dependent is not null;
create table benchmark_write (number bigint);
"""
INSERT = "insert into job (id, type, input) values ($1, $2, $3)"
INSERT_AND_NOTIFY = f"with inserted as ({INSERT}) select pg_notify('due', '')"
INSERT_MANY = "insert into job (id, type, input) select * from unnest($1::text[], $2::text[], $3::bytea[])"
INSERT_PARTS = """
insert into job (id, type, input, dependent)
select part.*, $3::text from unnest($1::text[], $2::text[], $4::bytea[]) part
"""
INSERT_BLOCKED = "insert into job (id, type, input, status, blockers) values ($1, 'gather', $2, 'blocked', $3)"
UNBLOCK = """
update job
   set blockers = job.blockers - done.number,
       status = case when job.blockers = done.number then 'pending' else job.status end
  from unnest($1::text[], $2::int[]) as done (id, number)
 where job.id = done.id and job.status = 'blocked'
"""
OUTPUTS = "select output from job where dependent = $1 order by seq"
CLAIM = """
update job set status = 'running', token = $1, attempt = attempt + 1, leased_until = now() + interval '60 s'
 where id = any(array(
    select id from job where type = $2 and status = 'pending' and scheduled_at <= now()
     order by priority desc, scheduled_at, seq limit $3 for update skip locked))
returning seq, id, input, dependent
"""
COMPLETE = """
update job set status = 'completed', output = done.output, finished_at = now(), token = null, leased_until = null
  from unnest($1::bigint[], $2::bytea[]) as done (seq, output)
 where job.seq = done.seq and job.status = 'running' and job.token = $3
"""


class PostgresLimit(Contender):
    name = "limit: asyncpg"
    about = {  # noqa: RUF012
        "postgres": About(
            "a table, SKIP LOCKED, fenced by a token", "rows are kept", f"one connection, batches of {BATCH}"
        )
    }
    distributions = ("asyncpg",)
    drains = (10_000, 50_000)
    starts = (1500, 50_000)

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._library: Any = import_module("asyncpg")

    async def setup(self) -> None:
        await self.open()
        await self._connection.execute(SCHEMA)
        await self.close()

    async def open(self) -> None:
        self._connection = await self._library.connect(self.place.url)
        self._listening = False

    async def close(self) -> None:
        await self._connection.close()

    async def start(self, number: int) -> None:
        await self._connection.execute(INSERT, str(uuid4()), "add", _payload(number))

    async def start_many(self, numbers: Sequence[int]) -> None:
        ids = [str(uuid4()) for _ in numbers]
        await self._connection.execute(INSERT_MANY, ids, ["add"] * len(ids), [_payload(number) for number in numbers])

    async def load(self, kind: str, numbers: Sequence[int]) -> int:
        if kind.startswith("fan-in"):
            return await self._fan(numbers, fan_of(kind))
        if kind not in LOADED:
            raise Unsupported(f"no {kind} jobs")
        type = LOADED[kind]
        ids = [str(uuid4()) for _ in numbers]
        await self._connection.execute(INSERT_MANY, ids, [type] * len(ids), [_payload(number) for number in numbers])
        return len(numbers) * (3 if kind == "chain" else 1)

    async def _fan(self, numbers: Sequence[int], fan: int) -> int:
        """Jobs that one job waits for, written in one transaction with it."""
        for begin in range(0, len(numbers), fan):
            part, gather = numbers[begin : begin + fan], str(uuid4())
            ids, payloads = [str(uuid4()) for _ in part], [_payload(number) for number in part]
            async with self._connection.transaction():
                await self._connection.execute(INSERT_BLOCKED, gather, _payload(0), len(part))
                types = ["part"] * len(ids)
                await self._connection.execute(INSERT_PARTS, ids, types, gather, payloads)
        return len(numbers) + -(-len(numbers) // fan)

    async def touch(self, sent: int) -> None:
        await self._connection.execute(INSERT_AND_NOTIFY, str(uuid4()), "touch", _payload(sent))

    async def call(self, number: int) -> int:
        if not self._listening:
            self._answers: dict[str, asyncio.Future[int]] = {}
            listener = self._listener = await self._library.connect(self.place.url)
            await listener.add_listener("done", self._receive)
            self._listening = True
        id = str(uuid4())
        answer: asyncio.Future[int]
        answer = self._answers[id] = asyncio.get_running_loop().create_future()
        await self._connection.execute(INSERT_AND_NOTIFY, id, "call", _payload(number))
        return await answer

    def _receive(self, connection: Any, process: int, channel: str, payload: str) -> None:
        id, _, value = payload.partition(" ")
        if waiting := self._answers.pop(id, None):
            waiting.set_result(int(value))

    async def left(self) -> int:
        return int(
            await self._connection.fetchval(
                "select count(*) from job where status in ('pending', 'running', 'blocked')"
            )
        )

    async def work(self, slots: int | None) -> None:
        await self.open()
        listener = await self._library.connect(self.place.url)
        due = asyncio.Event()
        await listener.add_listener("due", partial(_wake, due))
        while True:
            due.clear()
            for type in TYPES:
                while await self._batch(type, slots or BATCH):
                    pass
            await due.wait()

    async def _batch(self, type: str, size: int) -> bool:
        token = uuid4().hex
        rows = await self._connection.fetch(CLAIM, token, type, size)
        if not rows:
            return False
        if type == "write":
            for row in rows:
                await self._write(row, token)
            return True
        outputs = [_handle(type, row["input"]) for row in rows]
        if type == "gather":
            outputs = [await self._sum(row["id"]) for row in rows]
        if type in NEXT or type == "part":
            await self._complete_with_effects(type, rows, outputs, token)
            return True
        await self._connection.execute(COMPLETE, [row["seq"] for row in rows], outputs, token)
        if type == "call":
            for row, output in zip(rows, outputs, strict=True):
                await self._connection.execute("select pg_notify('done', $1)", f"{row['id']} {output.decode()}")
        return True

    async def _sum(self, id: str) -> bytes:
        return str(sum(int(row["output"]) for row in await self._connection.fetch(OUTPUTS, id))).encode()

    async def _complete_with_effects(self, type: str, rows: list[Any], outputs: list[bytes], token: str) -> None:
        """Completions in one transaction with the next jobs, or with the end of waiting."""
        async with self._connection.transaction():
            await self._connection.execute(COMPLETE, [row["seq"] for row in rows], outputs, token)
            if type == "part":
                waiting = Counter(row["dependent"] for row in rows)
                await self._connection.execute(UNBLOCK, list(waiting), list(waiting.values()))
            else:
                ids, inputs = [str(uuid4()) for _ in rows], [_payload(int(output)) for output in outputs]
                await self._connection.execute(INSERT_MANY, ids, [NEXT[type]] * len(ids), inputs)

    async def _write(self, row: Any, token: str) -> None:
        """A write of the application's and the completion in one transaction, one job at a time."""
        async with self._connection.transaction():
            await self._connection.execute("insert into benchmark_write values ($1)", row["seq"])
            await self._connection.execute(COMPLETE, [row["seq"]], [_handle("write", row["input"])], token)


def _wake(due: asyncio.Event, *reported: object) -> None:
    due.set()


def _payload(number: int) -> bytes:
    return json.dumps({"number": number}).encode()


def _handle(type: str, payload: bytes) -> bytes:
    number = json.loads(payload)["number"]
    if type == "touch":
        lap(number)
        return b"null"
    tick()
    return str(number + 1).encode()
