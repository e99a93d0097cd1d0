"""A namespace that uses most keys of the Redis layout, as plain values: written, read, and loaded into a server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from holdfast import Attempt, Bound, Client, Fail, Jobs, Limit, Order, Rate
from holdfast.stores.redis.keys import LAYOUT
from holdfast.testing import drain
from tests.servers.redis import shared_redis

NAMESPACE = "sample"

jobs = Jobs(name="sample")


@jobs.job
async def double(number: int) -> int:
    return 2 * number


@jobs.job
async def first(number: int) -> Bound[int]:
    return double.bind(number)


@jobs.job
async def refuse(number: int) -> None:
    raise Fail(f"no {number}")


@jobs.job(limits=[Limit("two", 2), Rate("often", 100, per=1, burst=100), Order("account", by="account")])
async def book(account: str) -> str:
    return account


def doubled(number: int) -> int:
    return 2 * number


@jobs.job
async def stepwise(attempt: Attempt, number: int) -> int:
    return await attempt.step("double", doubled, number) + await attempt.receive("more", int)


jobs.schedule("nightly", double.bind(1), cron="30 2 * * *")


async def fill(client: Client) -> None:
    """Leave jobs of every status, with keys, lanes, steps, messages, blockers and schedules."""
    await client.start(first.bind(1), key="done")
    await client.start(refuse.bind(2))
    await client.start_many([book.bind("a"), book.bind("b")])
    asked = await client.start(stepwise.bind(5), key="waiting")
    await drain(client)
    await client.start(double.bind(6).options(key="later", delay=86400, priority=3), after=[asked])
    await client.start(double.bind(7), key="scheduled", delay=86400)
    await client.cancel(await client.start(double.bind(8), key="cancelled", delay=86400))
    await client.start_many([double.bind(9).options(key="due"), book.bind("c").options(key="in-lane")])
    await client.pause("paused")
    await client.set_limit("two", 1)


def sample() -> dict[str, Any]:
    """Fill a namespace and return its content by key, with the layout."""
    address = shared_redis().address(NAMESPACE)

    async def run() -> None:
        async with Client(address, jobs) as client:
            await fill(client)

    asyncio.run(run())
    try:
        return {"layout": LAYOUT, "keys": read()}
    finally:
        server = shared_redis().connect()
        server.delete(*server.keys(f"{{{NAMESPACE}}}*"))


def read() -> dict[str, Any]:
    """The keys of the namespace, without those that expire within a minute or so."""
    server = shared_redis().connect()
    names = sorted(name for name in server.keys(f"{{{NAMESPACE}}}*") if server.ttl(name) == -1)
    return {_text(name): _value(server, name) for name in names}


def shape(content: dict[str, Any]) -> set[str]:
    """The kinds of keys, with the type of each, and the fields of a job."""
    found: set[str] = set()
    for name, value in content["keys"].items():
        ((kind, items),) = value.items()
        prefix = name.split(":")[1] if ":" in name else ""
        found.add(f"{prefix or 'the root'}: {kind}")
        if prefix == "j":
            found.update(f"field {field} of a job" for field in items)
    return found


def _value(server: Any, name: bytes) -> dict[str, Any]:
    match server.type(name):
        case b"hash":
            return {"hash": {_text(key): _text(value) for key, value in sorted(server.hgetall(name).items())}}
        case b"zset":
            return {"zset": {_text(key): score for key, score in server.zrange(name, 0, -1, withscores=True)}}
        case b"list":
            return {"list": [_text(each) for each in server.lrange(name, 0, -1)]}
        case b"set":
            return {"set": sorted(_text(each) for each in server.smembers(name))}
        case b"string":
            return {"string": _text(server.get(name))}
        case other:
            raise AssertionError(f"{name!r} is a {other!r}")


def load(content: dict[str, Any], namespace: str) -> None:
    """Write the content of a sample into another namespace."""
    server = shared_redis().connect()
    for stored, value in content["keys"].items():
        name = _bytes(stored.replace(f"{{{NAMESPACE}}}", f"{{{namespace}}}", 1))
        ((kind, items),) = value.items()
        match kind:
            case "hash":
                server.hset(name, mapping={_bytes(key): _bytes(item) for key, item in items.items()})
            case "zset":
                server.zadd(name, {_bytes(key): score for key, score in items.items()})
            case "list":
                server.rpush(name, *map(_bytes, items))
            case "set":
                server.sadd(name, *map(_bytes, items))
            case _:
                server.set(name, _bytes(items))


def _text(value: bytes) -> str:
    """The bytes as text, a character for each. A traceback in an error gets the path within the project."""
    text = value.decode("latin-1")
    return text.replace(f"{Path.cwd()}/", "") if text.startswith('["') else text


def _bytes(value: str) -> bytes:
    return value.encode("latin-1")
