"""A drain beside a million finished jobs: copies of one that ran, so that their rows are as the store writes them."""

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
for number = tonumber(ARGV[2]), tonumber(ARGV[3]) do
    redis.call('copy', KEYS[1], KEYS[1] .. number)
    for at = 2, #KEYS do redis.call('zadd', KEYS[at], ARGV[at + 2], ARGV[1] .. number) end
end
"""
JOB = "{holdfast}:j:"


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
    """Add this many copies of the only finished job of the store."""
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
                connection.execute("checkpoint")  # what was loaded is on disk before the clock begins
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
            client: Any = import_module("redis").Redis.from_url(place.url, decode_responses=True)
            keys = client.keys("{holdfast}*")
            (id,) = (key.removeprefix(JOB) for key in keys if key.startswith(JOB))
            scores = {key: client.zscore(key, id) for key in keys if client.type(key) == "zset"}
            held = {key: score for key, score in scores.items() if score is not None}
            script = client.register_script(COPY)
            for first in range(0, count, STEP):
                last = min(first + STEP, count) - 1
                script(keys=[JOB + id, *held], args=[id, first, last, *map(repr, held.values())])
            client.close()


def _copied(names: list[str]) -> str:
    return ", ".join(f"{name} || '-' || copy.number" if name in ('"id"', '"chain_id"') else name for name in names)
