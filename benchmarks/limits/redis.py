"""Redis's limit: one Lua script per step, claims and completions in batches, every write fenced by a token."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from importlib import import_module
from typing import Any
from uuid import uuid4

from benchmarks.contender import About, Contender, Place, Unsupported, fan_of
from benchmarks.ticks import lap, tick

BATCH = 100
TYPES = ("touch", "call", "add", "first", "second", "third", "part", "gather")
LOADED = {"plain": "add", "chain": "first"}
NEXT = {"first": "second", "second": "third"}
START = """
for at = 1, #ARGV, 2 do
    redis.call('hset', 'job:' .. ARGV[at], 's', 'pending', 'i', ARGV[at + 1])
    redis.call('rpush', KEYS[1], ARGV[at])
end
redis.call('publish', 'due', '')
"""
CLAIM = """
local claimed = redis.call('lpop', KEYS[1], ARGV[2])
if not claimed then return {} end
local answer = {}
for _, id in ipairs(claimed) do
    redis.call('hset', 'job:' .. id, 's', 'running', 't', ARGV[1])
    redis.call('zadd', 'running', ARGV[3], id)
    answer[#answer + 1] = id
    answer[#answer + 1] = redis.call('hget', 'job:' .. id, 'i')
end
return answer
"""
COMPLETE = """
for at = 2, #ARGV, 2 do
    local job = 'job:' .. ARGV[at]
    if redis.call('hget', job, 't') == ARGV[1] then
        redis.call('hset', job, 's', 'completed', 'o', ARGV[at + 1])
        redis.call('zrem', 'running', ARGV[at])
    end
end
"""


COMPLETE_AND_CONTINUE = """
for at = 2, #ARGV, 4 do
    local job = 'job:' .. ARGV[at]
    if redis.call('hget', job, 't') == ARGV[1] then
        redis.call('hset', job, 's', 'completed', 'o', ARGV[at + 1])
        redis.call('zrem', 'running', ARGV[at])
        redis.call('hset', 'job:' .. ARGV[at + 2], 's', 'pending', 'i', ARGV[at + 3])
        redis.call('rpush', KEYS[1], ARGV[at + 2])
    end
end
"""
START_FAN = """
redis.call('hset', 'job:' .. ARGV[1], 's', 'blocked', 'i', ARGV[2], 'b', (#ARGV - 2) / 2)
for at = 3, #ARGV, 2 do
    redis.call('hset', 'job:' .. ARGV[at], 's', 'pending', 'i', ARGV[at + 1], 'd', ARGV[1])
    redis.call('rpush', 'parts:' .. ARGV[1], ARGV[at])
    redis.call('rpush', 'part', ARGV[at])
end
redis.call('publish', 'due', '')
"""
COMPLETE_PARTS = """
for at = 2, #ARGV, 2 do
    local job = 'job:' .. ARGV[at]
    local row = redis.call('hmget', job, 't', 'd')
    if row[1] == ARGV[1] then
        redis.call('hset', job, 's', 'completed', 'o', ARGV[at + 1])
        redis.call('zrem', 'running', ARGV[at])
        if redis.call('hincrby', 'job:' .. row[2], 'b', -1) == 0 then
            redis.call('hset', 'job:' .. row[2], 's', 'pending')
            redis.call('rpush', 'gather', row[2])
        end
    end
end
"""
OUTPUTS = """
local outputs = {}
for _, id in ipairs(redis.call('lrange', 'parts:' .. ARGV[1], 0, -1)) do
    outputs[#outputs + 1] = redis.call('hget', 'job:' .. id, 'o')
end
return outputs
"""


class RedisLimit(Contender):
    name = "limit: Lua"
    about = {  # noqa: RUF012
        "redis": About(
            "a list, fenced by a token", "hashes are kept", f"one connection of redis-py, hiredis, batches of {BATCH}"
        )
    }
    distributions = ("redis", "hiredis")
    drains = (10_000, 50_000)
    starts = (2000, 50_000)

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._library: Any = import_module("redis.asyncio")

    async def open(self) -> None:
        self._redis = self._library.from_url(self.place.url)
        self._start = self._redis.register_script(START)
        self._claim = self._redis.register_script(CLAIM)
        self._complete = self._redis.register_script(COMPLETE)
        self._complete_and_continue = self._redis.register_script(COMPLETE_AND_CONTINUE)
        self._start_fan = self._redis.register_script(START_FAN)
        self._complete_parts = self._redis.register_script(COMPLETE_PARTS)
        self._outputs = self._redis.register_script(OUTPUTS)
        self._answers: Any = None

    async def close(self) -> None:
        if self._answers is not None:
            await self._answers.aclose()
        await self._redis.aclose()

    async def start(self, number: int) -> None:
        await self._start(keys=["add"], args=[uuid4().hex, _payload(number)])

    async def start_many(self, numbers: Sequence[int]) -> None:
        await self._start_type("add", numbers)

    async def _start_type(self, type: str, numbers: Sequence[int]) -> None:
        for first in range(0, len(numbers), 1000):
            await self._start(keys=[type], args=_pairs(numbers[first : first + 1000]))

    async def load(self, kind: str, numbers: Sequence[int]) -> int:
        if kind.startswith("fan-in"):
            fan = fan_of(kind)
            for begin in range(0, len(numbers), fan):
                pairs = _pairs(numbers[begin : begin + fan])
                await self._start_fan(args=[uuid4().hex, _payload(0), *pairs])
            return len(numbers) + -(-len(numbers) // fan)
        if kind not in LOADED:
            raise Unsupported(f"no {kind} jobs")
        await self._start_type(LOADED[kind], numbers)
        return len(numbers) * (3 if kind == "chain" else 1)

    async def touch(self, sent: int) -> None:
        await self._start(keys=["touch"], args=[uuid4().hex, _payload(sent)])

    async def call(self, number: int) -> int:
        if self._answers is None:
            self._answers = self._redis.pubsub()
            await self._answers.subscribe("done")
            await self._answers.get_message(timeout=5)
        id = uuid4().hex
        await self._start(keys=["call"], args=[id, _payload(number)])
        while True:
            message = await self._answers.get_message(timeout=30)
            found, _, value = message["data"].decode().partition(" ")
            if found == id:
                return int(value)

    async def left(self) -> int:
        waiting = [await self._redis.llen(type) for type in TYPES]
        return int(sum(waiting) + await self._redis.zcard("running"))

    async def work(self, slots: int | None) -> None:
        await self.open()
        wakeups = self._redis.pubsub()
        await wakeups.subscribe("due")
        while True:
            for type in TYPES:
                while await self._batch(type, slots or BATCH):
                    pass
            await wakeups.get_message(timeout=None)

    async def _batch(self, type: str, size: int) -> bool:
        token = uuid4().hex
        found = await self._claim(keys=[type], args=[token, size, asyncio.get_running_loop().time()])
        settled: list[Any] = [token]
        for id, payload in zip(found[::2], found[1::2], strict=True):
            output = _handle(type, payload)
            if type == "gather":
                output = str(sum(map(int, await self._outputs(args=[id])))).encode()
            settled += (id, output, *((uuid4().hex, _payload(int(output))) if type in NEXT else ()))
        if found and type in NEXT:
            await self._complete_and_continue(keys=[NEXT[type]], args=settled)
        elif found:
            await (self._complete_parts if type == "part" else self._complete)(args=settled)
        if type == "call":
            for id, output in zip(settled[1::2], settled[2::2], strict=True):
                await self._redis.publish("done", id + b" " + output)
        return bool(found)


def _pairs(numbers: Sequence[int]) -> list[Any]:
    """An id and a payload for each number."""
    return [each for number in numbers for each in (uuid4().hex, _payload(number))]


def _payload(number: int) -> bytes:
    return json.dumps({"number": number}).encode()


def _handle(type: str, payload: bytes) -> bytes:
    number = json.loads(payload)["number"]
    if type == "touch":
        lap(number)
        return b"null"
    tick()
    return str(number + 1).encode()
