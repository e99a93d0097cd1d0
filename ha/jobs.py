"""The job of the load: its effect is a row that commits with the completion."""

from __future__ import annotations

from psycopg import AsyncConnection

from holdfast import Attempt, Jobs

EFFECTS = "create table effect (job text not null)"

jobs = Jobs()


@jobs.job
async def effect(attempt: Attempt[AsyncConnection], number: int) -> int:
    async with attempt.complete() as done:
        await done.tx.execute("insert into effect (job) values (%s)", [attempt.job.id])
        return done.output(number)
