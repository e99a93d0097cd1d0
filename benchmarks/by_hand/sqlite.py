"""By hand on SQLite: aiosqlite, one connection, whose transactions take turns by a lock of asyncio."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from uuid import uuid4

import aiosqlite

from benchmarks.by_hand.worker import LEASE, Job, Outcome, Worker, by_key, payload
from benchmarks.contender import About, Contender, Unsupported, fan_of
from benchmarks.ticks import tick

BATCH = 1000
AHEAD = 100
"""Jobs that a worker with few slots claims at a time."""
LOADED = {"plain": "add", "transactional": "write", "chain": "first"}
SCHEMA = """
create table job (
    seq integer primary key, id text unique, type text not null, status text not null, priority integer not null,
    scheduled_at integer not null, token text, leased_until integer, attempt integer not null default 0,
    finished_at integer, input blob not null, output blob, error text, dependent text, blockers integer);
create index due on job (priority desc, scheduled_at, seq) where status = 'pending';
create index running on job (leased_until) where status = 'running';
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
update job set status = 'running', token = ?, attempt = attempt + 1, leased_until = ?
 where seq in (select seq from job where status = 'pending' and scheduled_at <= ?
                order by priority desc, scheduled_at, seq limit ?)
returning seq, type, input, token, coalesce(dependent, id)
"""
COMPLETE = """
update job set status = ?, output = ?, error = ?, finished_at = ?, token = null, leased_until = null
 where seq = ? and token = ?
"""
RENEW = "update job set leased_until = ? where seq = ? and token = ? returning seq"
REAP = "update job set status = 'pending', token = null where status = 'running' and leased_until < ?"
OUTPUTS = """
select dependent, output from job where dependent in (select value from json_each(?)) order by dependent, seq
"""


class ByHandSqlite(Contender):
    name = "by hand: aiosqlite"
    about = {  # noqa: RUF012
        "sqlite": About(
            "a task per handler; leased, renewed and fenced by a token; synchronous=FULL",
            "rows are kept",
            f"one connection of aiosqlite, {BATCH} handlers at a time",
        )
    }
    distributions = ("aiosqlite",)
    only = frozenset({"transactional", "chains", "fan_in", "draining"})
    drains = (10_000, 50_000)

    async def setup(self) -> None:
        await self.open()
        await self._database.executescript(SCHEMA)
        await self.close()

    async def open(self) -> None:
        self._database = await aiosqlite.connect(self.place.url, timeout=30)
        await self._database.execute("pragma journal_mode = wal")
        await self._database.execute("pragma synchronous = full")
        self._turn = asyncio.Lock()
        """Held from the first statement of a transaction to its commit."""

    async def close(self) -> None:
        await self._database.close()

    async def start_many(self, numbers: Sequence[int]) -> None:
        await self.load("plain", numbers)

    async def load(self, kind: str, numbers: Sequence[int]) -> int:
        if kind.startswith("fan-in"):
            return await self._fan(numbers, fan_of(kind))
        if kind not in LOADED:
            raise Unsupported(f"no {kind} jobs")
        await self._database.executemany(INSERT, _rows(LOADED[kind], numbers))
        await self._commit_and_announce()
        return len(numbers) * (3 if kind == "chain" else 1)

    async def _fan(self, numbers: Sequence[int], fan: int) -> int:
        for begin in range(0, len(numbers), fan):
            part, waiting = numbers[begin : begin + fan], str(uuid4())
            await self._database.execute(INSERT_BLOCKED, (waiting, _now(), payload(0), len(part)))
            await self._database.executemany(INSERT, _rows("part", part, waiting))
            await self._commit_and_announce()
        return len(numbers) + -(-len(numbers) // fan)

    async def left(self) -> int:
        query = "select count(*) from job where status in ('pending', 'running', 'blocked')"
        [(count,)] = await self._database.execute_fetchall(query)
        return int(count)

    async def _commit_and_announce(self) -> None:
        await self._database.commit()
        with suppress(OSError):  # no worker listens
            fifo = os.open(_fifo(self.place.url), os.O_WRONLY | os.O_NONBLOCK)
            os.write(fifo, b".")
            os.close(fifo)

    async def work(self, slots: int | None) -> None:
        await self.open()
        os.mkfifo(path := _fifo(self.place.url))
        self._fifo = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self._announced = asyncio.Event()
        asyncio.get_running_loop().add_reader(self._fifo, self._announcement)
        await Worker(self, slots=slots or BATCH, ahead=max(AHEAD, slots or BATCH)).run()

    def _announcement(self) -> None:
        os.read(self._fifo, 4096)
        self._announced.set()

    async def wait(self) -> None:
        await self._announced.wait()
        self._announced.clear()

    async def settle_and_claim(self, ended: Sequence[Outcome], limit: int) -> list[Job]:
        async with self._turn:
            if ended:
                await self._settle(ended)
            now = _now()
            claim = (uuid4().hex, now + int(LEASE * 1e6), now, limit)
            rows = await self._database.execute_fetchall(CLAIM, claim) if limit else ()
            await self._database.commit()
        return [Job(*row) for row in rows]

    async def _settle(self, ended: Sequence[Outcome]) -> None:
        now = _now()
        written = await self._database.executemany(COMPLETE, [_completion(each, now) for each in ended])
        if written.rowcount != len(ended):  # some claims are lost: their outcomes must have no effects
            await self._database.rollback()
            ended = await self._settle_each(ended, now)
        if rows := [
            (str(uuid4()), each.next.type, now, payload(each.next.number), None)
            for each in ended
            if each.next is not None
        ]:
            await self._database.executemany(INSERT, rows)
        parts = Counter(each.job.group for each in ended if each.job.type == "part")
        if parts:
            await self._database.executemany(UNBLOCK, [(number, id) for id, number in parts.items()])

    async def _settle_each(self, ended: Sequence[Outcome], now: int) -> list[Outcome]:
        """Write outcomes one by one. Returns those whose claims are still held."""
        return [
            each for each in ended if (await self._database.execute(COMPLETE, _completion(each, now))).rowcount == 1
        ]

    async def write(self, job: Job, number: int) -> None:
        async with self._turn:
            try:
                await self._database.execute("insert into benchmark_write values (?)", [number])
                tick()
                outcome = Outcome(job, str(number + 1).encode())
                written = await self._database.execute(COMPLETE, _completion(outcome, _now()))
                if written.rowcount != 1:
                    raise RuntimeError("the claim is lost")
                await self._database.commit()
            except BaseException:
                await self._database.rollback()
                raise

    async def outputs(self, jobs: Sequence[Job]) -> dict[Any, list[bytes]]:
        async with self._turn:
            rows = await self._database.execute_fetchall(OUTPUTS, [json.dumps([job.group for job in jobs])])
        return by_key(jobs, rows)

    async def renew(self, jobs: Sequence[Job]) -> list[Any]:
        until, kept = _now() + int(LEASE * 1e6), set[Any]()
        async with self._turn:
            for job in jobs:
                kept.update(seq for (seq,) in await self._database.execute_fetchall(RENEW, (until, job.key, job.token)))
            await self._database.commit()
        return [job.key for job in jobs if job.key not in kept]

    async def reap(self) -> None:
        async with self._turn:
            await self._database.execute(REAP, [_now()])
            await self._database.commit()


def _completion(outcome: Outcome, now: int) -> tuple[Any, ...]:
    status = "completed" if outcome.error is None else "failed"
    return status, outcome.output, outcome.error, now, outcome.job.key, outcome.job.token


def _rows(type: str, numbers: Sequence[int], dependent: str | None = None) -> list[tuple[Any, ...]]:
    now = _now()
    return [(str(uuid4()), type, now, payload(number), dependent) for number in numbers]


def _now() -> int:
    return int(time.time() * 1e6)


def _fifo(path: str) -> str:
    return f"{path}.fifo"
