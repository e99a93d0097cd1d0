"""By hand on PostgreSQL: psycopg, a connection for claims and outcomes, and one for each handler with a transaction."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import psycopg

from benchmarks.by_hand.worker import Job, Outcome, Worker, by_key, payload
from benchmarks.contender import About, Contender, Unsupported, fan_of
from benchmarks.ticks import tick

BATCH = 500
AHEAD = 100
"""Jobs that a worker with few slots claims at a time."""
LOADED = {"plain": "add", "transactional": "write", "chain": "first"}
Connection = psycopg.AsyncConnection[tuple[Any, ...]]
SCHEMA = """
create table job (
    seq bigint generated always as identity primary key, id text not null unique, type text not null,
    status text not null default 'pending', priority int not null default 0,
    scheduled_at timestamptz not null default now(), token text, leased_until timestamptz,
    attempt int not null default 0, finished_at timestamptz, input bytea not null, output bytea, error text,
    dependent text, blockers int not null default 0
) with (fillfactor = 85);
create index job_due on job (priority desc, scheduled_at, seq) where status = 'pending';
create index job_running on job (leased_until) where status = 'running';
create index job_dependent on job (dependent) where dependent is not null;
create table benchmark_write (number bigint);
"""
INSERT = """
insert into job (id, type, input, dependent)
select id, type, input, %s::text from unnest(%b::text[], %b::text[], %b::bytea[]) as new (id, type, input)
"""
INSERT_BLOCKED = "insert into job (id, type, input, status, blockers) values (%s, 'gather', %b, 'blocked', %s)"
CLAIM = """
update job set status = 'running', token = %s, attempt = attempt + 1, leased_until = now() + interval '30 s'
 where seq = any(array(
    select seq from job where status = 'pending' and scheduled_at <= now()
     order by priority desc, scheduled_at, seq limit %s for update skip locked))
returning seq, type, input, token, coalesce(dependent, id)
"""
COMPLETE = """
update job
   set status = case when done.error is null then 'completed' else 'failed' end, output = done.output,
       error = done.error, finished_at = now(), token = null, leased_until = null
  from unnest(%b::bigint[], %b::text[], %b::bytea[], %b::text[]) as done (seq, token, output, error)
 where job.seq = done.seq and job.token = done.token
returning job.seq
"""
COMPLETE_ONE = """
update job set status = 'completed', output = %b, finished_at = now(), token = null, leased_until = null
 where seq = %b and token = %s
"""
WRITE = "insert into benchmark_write values (%b)"
UNBLOCK = """
update job
   set blockers = job.blockers - done.number,
       status = case when job.blockers = done.number then 'pending' else job.status end
  from unnest(%b::text[], %b::int[]) as done (id, number)
 where job.id = done.id and job.status = 'blocked'
"""
RENEW = """
update job set leased_until = now() + interval '30 s'
  from unnest(%b::bigint[], %b::text[]) as held (seq, token)
 where job.seq = held.seq and job.token = held.token
returning job.seq
"""
REAP = "update job set status = 'pending', token = null where status = 'running' and leased_until < now()"
OUTPUTS = "select dependent, output from job where dependent = any(%b::text[]) order by dependent, seq"


class ByHandPostgres(Contender):
    name = "by hand: psycopg"
    about = {  # noqa: RUF012
        "postgres": About(
            "a task per handler; SKIP LOCKED; leased, renewed and fenced by a token",
            "rows are kept",
            f"{BATCH} handlers at a time",
        )
    }
    distributions = ("psycopg",)
    only = frozenset({"transactional", "chains", "fan_in", "draining"})
    drains = (10_000, 50_000)

    async def setup(self) -> None:
        await self.open()
        await self._connection.execute(SCHEMA.encode(), prepare=False)
        await self.close()

    async def open(self) -> None:
        self._connection = await self._connect()

    async def close(self) -> None:
        await self._connection.close()

    async def _connect(self) -> Connection:
        return await psycopg.AsyncConnection.connect(self.place.url, autocommit=True, prepare_threshold=0)

    async def start_many(self, numbers: Sequence[int]) -> None:
        await self.load("plain", numbers)

    async def load(self, kind: str, numbers: Sequence[int]) -> int:
        if kind.startswith("fan-in"):
            return await self._fan(numbers, fan_of(kind))
        if kind not in LOADED:
            raise Unsupported(f"no {kind} jobs")
        await self._insert(LOADED[kind], numbers)
        await self._connection.execute("notify due")
        return len(numbers) * (3 if kind == "chain" else 1)

    async def _insert(self, type: str, numbers: Sequence[int], dependent: str | None = None) -> None:
        ids, inputs = [str(uuid4()) for _ in numbers], [payload(number) for number in numbers]
        await self._connection.execute(INSERT, [dependent, ids, [type] * len(ids), inputs])

    async def _fan(self, numbers: Sequence[int], fan: int) -> int:
        for begin in range(0, len(numbers), fan):
            part, waiting = numbers[begin : begin + fan], str(uuid4())
            async with self._connection.transaction():
                await self._connection.execute(INSERT_BLOCKED, [waiting, payload(0), len(part)])
                await self._insert("part", part, waiting)
                await self._connection.execute("notify due")
        return len(numbers) + -(-len(numbers) // fan)

    async def left(self) -> int:
        query = "select count(*) from job where status in ('pending', 'running', 'blocked')"
        row = await (await self._connection.execute(query)).fetchone()
        return int(row[0]) if row is not None else 0

    async def work(self, slots: int | None) -> None:
        await self.open()
        self._leases, self._listener = await self._connect(), await self._connect()
        await self._listener.execute("listen due")
        self._handlers: asyncio.LifoQueue[Connection] = asyncio.LifoQueue()
        for _ in range(min(10, slots or 0)):
            self._handlers.put_nowait(await self._connect())
        await Worker(self, slots=slots or BATCH, ahead=max(AHEAD, slots or BATCH)).run()

    async def wait(self) -> None:
        async for _ in self._listener.notifies(timeout=None, stop_after=1):
            return

    async def settle_and_claim(self, ended: Sequence[Outcome], limit: int) -> list[Job]:
        connection = self._connection
        if not ended:
            return await _jobs(await connection.execute(CLAIM, [uuid4().hex, limit]))
        async with connection.transaction():
            completed = await connection.execute(COMPLETE, _columns(ended))
            if completed.rowcount != len(ended):  # some claims are lost: their outcomes must have no effects
                held = {seq for (seq,) in await completed.fetchall()}
                ended = [each for each in ended if each.job.key in held]
            async with connection.pipeline():
                await self._continue(ended)
                claimed = await connection.execute(CLAIM, [uuid4().hex, limit])
            return await _jobs(claimed)

    async def _continue(self, ended: Sequence[Outcome]) -> None:
        following = [each.next for each in ended if each.next is not None]
        if following:
            ids, types = [str(uuid4()) for _ in following], [each.type for each in following]
            inputs = [payload(each.number) for each in following]
            await self._connection.execute(INSERT, [None, ids, types, inputs])
        if parts := Counter(each.job.group for each in ended if each.job.type == "part"):
            await self._connection.execute(UNBLOCK, [list(parts), list(parts.values())])

    async def write(self, job: Job, number: int) -> None:
        connection = await self._handlers.get()
        try:
            async with connection.transaction():
                await connection.execute(WRITE, [number])
                tick()
                completed = await connection.execute(COMPLETE_ONE, [b"%d" % (number + 1), job.key, job.token])
                if completed.rowcount != 1:
                    raise RuntimeError("the claim is lost")
        finally:
            self._handlers.put_nowait(connection)

    async def outputs(self, jobs: Sequence[Job]) -> dict[Any, list[bytes]]:
        found = await self._connection.execute(OUTPUTS, [[job.group for job in jobs]])
        return by_key(jobs, await found.fetchall())

    async def renew(self, jobs: Sequence[Job]) -> list[Any]:
        held = await self._leases.execute(RENEW, [[job.key for job in jobs], [job.token for job in jobs]])
        kept = {seq for (seq,) in await held.fetchall()}
        return [job.key for job in jobs if job.key not in kept]

    async def reap(self) -> None:
        await self._leases.execute(REAP)


def _columns(ended: Sequence[Outcome]) -> list[Any]:
    return [
        [each.job.key for each in ended],
        [each.job.token for each in ended],
        [each.output for each in ended],
        [each.error for each in ended],
    ]


async def _jobs(claimed: psycopg.AsyncCursor[tuple[Any, ...]]) -> list[Job]:
    return [Job(*row) for row in await claimed.fetchall()]
