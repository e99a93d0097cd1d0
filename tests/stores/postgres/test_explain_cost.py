"""The cost of an explanation does not grow with the number of jobs, measured in blocks read."""

from __future__ import annotations

import time

import psycopg

from holdfast.stores.postgres import PostgresStore
from tests.stores.postgres.query_plans import blocks_of, plan

HOUR = 3_600_000_000


def test_an_explanation_reads_few_blocks_of_many_jobs(store: PostgresStore, connection: psycopg.Connection) -> None:
    now = int(time.time() * 1_000_000)
    # All are due at the same time, except for a tenth: these have a higher priority and are due later.
    connection.execute(
        f"""insert into "{store.schema}".job (id, type, chain_id, status, priority, created_at, scheduled_at, input)
            select 'job-' || n, 'resize', 'job-' || n, 'pending', case when n % 10 = 0 then 5 else 0 end, 0,
                   case when n % 10 = 0 then {now + HOUR} else {now - HOUR} end, '{{}}'
              from generate_series(1, 20001) n""".encode()
    )
    connection.execute(f'vacuum analyze "{store.schema}".job'.encode())

    for job in ("job-1", "job-10001", "job-20001", "job-20000"):
        parameters = {"now": None, "id": job, "current": True, "limit": 1000}
        assert blocks_of(plan(store, connection, "explain", parameters)) < 50, job
