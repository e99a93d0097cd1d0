"""By hand on Redis: redis.asyncio and one Lua script that writes outcomes and claims the next jobs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any
from uuid import uuid4

from benchmarks.by_hand.worker import LEASE, Job, Outcome, Worker, payload
from benchmarks.contender import About, Contender, Place, Unsupported, fan_of

BATCH = 500
AHEAD = 100
"""Jobs that a worker with few slots claims at a time."""
LOADED = {"plain": "add", "chain": "first"}
START = """
-- ARGV: type, then the id and the input of each job
for at = 2, #ARGV, 2 do
    redis.call('hset', 'job:' .. ARGV[at], 's', 'pending', 'y', ARGV[1], 'i', ARGV[at + 1])
    redis.call('rpush', 'due', ARGV[at])
end
redis.call('publish', 'due', '')
"""
START_FAN = """
-- ARGV: the id and the input of the waiting job, then those of the jobs that it waits for
redis.call('hset', 'job:' .. ARGV[1], 's', 'blocked', 'y', 'gather', 'i', ARGV[2], 'b', (#ARGV - 2) / 2)
redis.call('incr', 'blocked')
for at = 3, #ARGV, 2 do
    redis.call('hset', 'job:' .. ARGV[at], 's', 'pending', 'y', 'part', 'i', ARGV[at + 1], 'd', ARGV[1])
    redis.call('rpush', 'parts:' .. ARGV[1], ARGV[at])
    redis.call('rpush', 'due', ARGV[at])
end
redis.call('publish', 'due', '')
"""
SETTLE_AND_CLAIM = """
-- ARGV: token of the claim, lease, limit, then of each outcome: id, token, status, output and the type of the next
-- job, which is followed by its id and input unless it is empty
local at = 4
while at <= #ARGV do
    local id, continues = ARGV[at], ARGV[at + 4] ~= ''
    local job = 'job:' .. id
    local row = redis.call('hmget', job, 't', 'd')
    if row[1] == ARGV[at + 1] then
        redis.call('hset', job, 's', ARGV[at + 2], 'o', ARGV[at + 3], 't', '')
        redis.call('zrem', 'running', id)
        if continues then
            redis.call('hset', 'job:' .. ARGV[at + 5], 's', 'pending', 'y', ARGV[at + 4], 'i', ARGV[at + 6])
            redis.call('rpush', 'due', ARGV[at + 5])
        end
        if row[2] and redis.call('hincrby', 'job:' .. row[2], 'b', -1) == 0 then
            redis.call('hset', 'job:' .. row[2], 's', 'pending')
            redis.call('decr', 'blocked')
            redis.call('rpush', 'due', row[2])
        end
    end
    at = at + (continues and 7 or 5)
end
local claimed = tonumber(ARGV[3]) > 0 and redis.call('lpop', 'due', ARGV[3])
local answer = {}
for at, id in ipairs(claimed or {}) do
    local job = 'job:' .. id
    redis.call('hset', job, 's', 'running', 't', ARGV[1])
    redis.call('zadd', 'running', ARGV[2], id)
    local row = redis.call('hmget', job, 'y', 'i')
    answer[3 * at - 2], answer[3 * at - 1], answer[3 * at] = id, row[1], row[2]
end
return answer
"""
OUTPUTS = """
local answer = {}
for each, waiting in ipairs(ARGV) do
    local outputs = {}
    for at, id in ipairs(redis.call('lrange', 'parts:' .. waiting, 0, -1)) do
        outputs[at] = redis.call('hget', 'job:' .. id, 'o')
    end
    answer[each] = outputs
end
return answer
"""
RENEW = """
-- ARGV: lease, then the id and the token of each job. Returns the ids whose claims are lost.
local lost = {}
for at = 2, #ARGV, 2 do
    if redis.call('hget', 'job:' .. ARGV[at], 't') == ARGV[at + 1] then
        redis.call('zadd', 'running', 'xx', ARGV[1], ARGV[at])
    else
        lost[#lost + 1] = ARGV[at]
    end
end
return lost
"""
REAP = """
for _, id in ipairs(redis.call('zrangebyscore', 'running', '-inf', ARGV[1])) do
    redis.call('hset', 'job:' .. id, 's', 'pending', 't', '')
    redis.call('zrem', 'running', id)
    redis.call('rpush', 'due', id)
end
"""


class ByHandRedis(Contender):
    name = "by hand: redis.asyncio"
    about = {  # noqa: RUF012
        "redis": About(
            "a task per handler; leased, renewed and fenced by a token",
            "hashes are kept",
            f"one connection of redis-py, hiredis, {BATCH} handlers at a time",
        )
    }
    distributions = ("redis", "hiredis")
    only = frozenset({"chains", "fan_in", "draining"})
    drains = (10_000, 50_000)

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._library: Any = import_module("redis.asyncio")

    async def open(self) -> None:
        self._redis = self._library.from_url(self.place.url)
        scripts = (START, START_FAN, SETTLE_AND_CLAIM, OUTPUTS, RENEW, REAP)
        made = [self._redis.register_script(script) for script in scripts]
        self._start, self._start_fan, self._settle_and_claim, self._outputs, self._renew, self._reap = made
        self._announcements = self._redis.pubsub()

    async def close(self) -> None:
        await self._redis.aclose()

    async def start_many(self, numbers: Sequence[int]) -> None:
        await self.load("plain", numbers)

    async def load(self, kind: str, numbers: Sequence[int]) -> int:
        if kind.startswith("fan-in"):
            fan = fan_of(kind)
            for begin in range(0, len(numbers), fan):
                pairs = _pairs(numbers[begin : begin + fan])
                await self._start_fan(args=[uuid4().hex, payload(0), *pairs])
            return len(numbers) + -(-len(numbers) // fan)
        if kind not in LOADED:
            raise Unsupported(f"no {kind} jobs")
        for begin in range(0, len(numbers), 1000):
            await self._start(args=[LOADED[kind], *_pairs(numbers[begin : begin + 1000])])
        return len(numbers) * (3 if kind == "chain" else 1)

    async def left(self) -> int:
        due, running = await self._redis.llen("due"), await self._redis.zcard("running")
        return int(due + running + int(await self._redis.get("blocked") or 0))

    async def work(self, slots: int | None) -> None:
        await self.open()
        await self._announcements.subscribe("due")
        await Worker(self, slots=slots or BATCH, ahead=2 * BATCH if slots is None else AHEAD).run()

    async def wait(self) -> None:
        while (message := await self._announcements.get_message(timeout=None)) is None or message["type"] != "message":
            continue

    async def settle_and_claim(self, ended: Sequence[Outcome], limit: int) -> list[Job]:
        token = uuid4().hex
        given: list[Any] = [token, _lease(), limit]
        for outcome in ended:
            status = "completed" if outcome.error is None else "failed"
            output = outcome.output if outcome.error is None else outcome.error
            given += (outcome.job.key, outcome.job.token, status, output)
            if outcome.next is None:
                given.append("")
            else:
                given += (outcome.next.type, uuid4().hex, payload(outcome.next.number))
        found = await self._settle_and_claim(args=given)
        claimed = zip(found[::3], found[1::3], found[2::3], strict=True)
        return [Job(id, type.decode(), input, token) for id, type, input in claimed]

    async def write(self, job: Job, number: int) -> None:
        raise NotImplementedError("Redis has no transactions of the application")

    async def outputs(self, jobs: Sequence[Job]) -> dict[Any, list[bytes]]:
        keys = [job.key for job in jobs]
        return dict(zip(keys, await self._outputs(args=keys), strict=True))

    async def renew(self, jobs: Sequence[Job]) -> list[Any]:
        lost: list[Any] = await self._renew(args=[_lease(), *(each for job in jobs for each in (job.key, job.token))])
        return lost

    async def reap(self) -> None:
        await self._reap(args=[time.time()])


def _pairs(numbers: Sequence[int]) -> list[Any]:
    """An id and an input for each number."""
    return [each for number in numbers for each in (uuid4().hex, payload(number))]


def _lease() -> float:
    return time.time() + LEASE
