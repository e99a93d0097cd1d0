"""The contenders, and the stores that they run on."""

from __future__ import annotations

from importlib import import_module

from benchmarks.contender import Contender

_CLASSES = {
    "Holdfast": "benchmarks.ours:Ours",
    "Holdfast, SyncClient": "benchmarks.ours:OursBlocking",
    "Holdfast, synchronous=normal": "benchmarks.ours:OursNormal",
    "Holdfast, SyncClient, synchronous=normal": "benchmarks.ours:OursBlockingNormal",
    "Holdfast, tx=": "benchmarks.joining:OursJoined",
    "Holdfast, SyncClient, tx=": "benchmarks.joining:OursBlockingJoined",
    "Holdfast, limits": "benchmarks.flow_control:OursFlow",
    "Holdfast, schedules": "benchmarks.schedules:OursSchedules",
    "limit: asyncpg": "benchmarks.limits.postgres:PostgresLimit",
    "limit: Lua": "benchmarks.limits.redis:RedisLimit",
    "limit: sqlite3": "benchmarks.limits.sqlite:SqliteLimit",
    "limit: sqlite3, synchronous=normal": "benchmarks.limits.sqlite:SqliteNormalLimit",
    "limit: sqlite3, tx": "benchmarks.joining:SqliteJoined",
    "limit: aiosqlite, tx": "benchmarks.joining:AioSqliteJoined",
    "limit: psycopg, tx": "benchmarks.joining:PsycopgJoined",
    "limit: asyncpg, tx": "benchmarks.joining:AsyncpgJoined",
    "limit: event loop": "benchmarks.limits.memory:MemoryLimit",
    "by hand: psycopg": "benchmarks.by_hand.postgres:ByHandPostgres",
    "by hand: redis.asyncio": "benchmarks.by_hand.redis:ByHandRedis",
    "by hand: aiosqlite": "benchmarks.by_hand.sqlite:ByHandSqlite",
    "PgQueuer": "benchmarks.peers.pgqueuer:PgQueuer",
    "Procrastinate": "benchmarks.peers.procrastinate:Procrastinate",
    "Chancy": "benchmarks.peers.chancy:Chancy",
    "SAQ": "benchmarks.peers.saq:Saq",
    "DBOS": "benchmarks.peers.dbos:Dbos",
    "absurd": "benchmarks.peers.absurd:Absurd",
    "awa-pg": "benchmarks.peers.awa:Awa",
    "FlexiQ": "benchmarks.peers.flexiq:FlexiQ",
    "FlexiQ async": "benchmarks.peers.flexiq:FlexiQAsync",
    "FlexiQ schedules": "benchmarks.peers.flexiq:FlexiQSchedules",
    "Dramatiq": "benchmarks.peers.dramatiq:Dramatiq",
    "taskiq": "benchmarks.peers.taskiq:Taskiq",
    "Huey": "benchmarks.peers.huey:Huey",
    "Celery": "benchmarks.peers.celery:Celery",
    "RQ": "benchmarks.peers.rq:Rq",
    "streaQ": "benchmarks.peers.streaq:Streaq",
    "streaQ schedules": "benchmarks.peers.streaq:StreaqSchedules",
}
"""By name. A module is imported when it is needed: an interpreter has the packages of its own contender only."""


def contender(name: str) -> type[Contender]:
    """The contender of a name."""
    module, _, attribute = _CLASSES[name].partition(":")
    found: type[Contender] = getattr(import_module(module), attribute)
    return found


def contenders(store: str) -> list[type[Contender]]:
    """All contenders of a store: Holdfast first, then the limit and the work by hand, then peers."""
    return [each for each in map(contender, _CLASSES) if store in each.about]


def peers() -> list[type[Contender]]:
    """The contenders with a separate environment."""
    return [each for each in map(contender, _CLASSES) if each.requirements]
