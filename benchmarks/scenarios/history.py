"""A drain beside a million finished jobs: copies of one that ran, so that they look as the store left it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from importlib import import_module
from typing import Any

import psycopg

from benchmarks.contender import Contender, Place
from benchmarks.processes import Run
from benchmarks.scenarios.draining import drain
from benchmarks.scenarios.scenario import Scenario, amount

FINISHED = 1_000_000
STEP = 2000
COPY = """
local keys, id = redis.call('keys', '{holdfast}*'), nil
for _, key in ipairs(keys) do id = id or key:match('^{holdfast}:j:(.+)$') end
local sets = {}
for _, key in ipairs(keys) do
    if redis.call('type', key).ok == 'zset' then
        local score = redis.call('zscore', key, id)
        if score then sets[#sets + 1] = {key, score} end
    end
end
for number = tonumber(ARGV[1]), tonumber(ARGV[2]) do
    redis.call('copy', '{holdfast}:j:' .. id, '{holdfast}:j:' .. id .. number)
    for _, each in ipairs(sets) do redis.call('zadd', each[1], each[2], id .. number) end
end
"""


class History(Scenario):
    idea = "history"
    name = "history"
    everyone = False

    def fits(self, contender: type[Contender], store: str) -> bool:
        return contender.name == "Holdfast" and super().fits(contender, store)

    def measure(self, run: Run, scale: float) -> dict[str, float]:
        run.ask("setup")
        drain(run, jobs=1, slots=10)
        run.ticks.create()
        multiply(run.place, amount(FINISHED, scale))
        rate, _ = drain(run, jobs=amount(run.contender.drains[1], scale), slots=None)
        return {"drain beside a million finished": rate}


def multiply(place: Place, count: int) -> None:
    """So many copies of the one finished job that a store holds."""
    match place.store:
        case "postgres":
            with closing(psycopg.connect(place.url, autocommit=True)) as connection:
                rows = connection.execute(
                    "select column_name from information_schema.columns"
                    " where table_schema = 'holdfast' and table_name = 'job' and is_identity = 'NO'"
                ).fetchall()
                names = [f'"{name}"' for (name,) in rows]
                statement = (
                    f"insert into holdfast.job ({', '.join(names)}) select {_copied(names)}"  # noqa: S608
                    f" from holdfast.job, generate_series(1, {count}) as copy (number)"
                )
                connection.execute(statement.encode())
                connection.execute("vacuum analyze holdfast.job")
        case "sqlite":
            with closing(sqlite3.connect(place.url)) as connection:
                columns = connection.execute("select name from pragma_table_info('holdfast_job') where pk = 0")
                names = [f'"{name}"' for (name,) in columns]
                connection.execute(
                    f"insert into holdfast_job ({', '.join(names)})"  # noqa: S608
                    f" with recursive copy (number) as"
                    f" (select 1 union all select number + 1 from copy where number < {count})"
                    f" select {_copied(names)} from holdfast_job, copy"
                )
                connection.commit()
        case _:
            client: Any = import_module("redis").Redis.from_url(place.url)
            script = client.register_script(COPY)
            for first in range(0, count, STEP):
                script(args=[first, first + STEP - 1])
            client.close()


def _copied(names: list[str]) -> str:
    return ", ".join(f"{name} || '-' || copy.number" if name in ('"id"', '"chain_id"') else name for name in names)
