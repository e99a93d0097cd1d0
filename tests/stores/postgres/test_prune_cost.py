"""The cost of pruning with many expired chains, measured in blocks read."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from holdfast.engine.operations import Start
from holdfast.stores.postgres import PostgresStore
from holdfast.testing.builders import new_job
from tests.stores.postgres.query_plans import blocks_of, plan

EXPIRED = 20_000
PRUNED = 10
FEW_BLOCKS = 300
"""More than ten chains need, and fewer than an index of all expired chains has."""
STATEMENTS = ("prune_expired", "chain_jobs", "dependents", "lock_jobs", "prune_clear", "delete")


@pytest.fixture
def manual_statistics(store: PostgresStore, connection: psycopg.Connection) -> PostgresStore:
    """A store whose tables are analyzed only by the test."""
    for table in ("job", "blocker", "place"):
        connection.execute(f'alter table "{store.schema}".{table} set (autovacuum_enabled = false)'.encode())
    return store


def test_with_statistics_from_before_the_first_chain_ended_a_prune_reads_few_blocks(
    manual_statistics: PostgresStore, connection: psycopg.Connection
) -> None:
    store = manual_statistics
    store.perform_sync(Start(tuple(new_job() for _ in range(1000))))
    analyze(store, connection)
    expire(store, connection, EXPIRED)

    blocks = blocks_of_a_prune(store, connection)

    assert {name: number for name, number in blocks.items() if number > FEW_BLOCKS} == {}


def test_a_few_blockers_do_not_make_a_prune_read_the_whole_table(
    manual_statistics: PostgresStore, connection: psycopg.Connection
) -> None:
    store = manual_statistics
    expire(store, connection, EXPIRED * 5)
    block_some(store, connection)
    analyze(store, connection)

    blocks = blocks_of_a_prune(store, connection)

    assert {name: number for name, number in blocks.items() if number > FEW_BLOCKS} == {}


def blocks_of_a_prune(store: PostgresStore, connection: psycopg.Connection) -> dict[str, int]:
    """The number of blocks that each statement reads for ten chains. All statements are rolled back."""
    oldest = connection.execute(
        f'select seq, chain_id from "{store.schema}".job where expires_at is not null'
        f" order by expires_at, chain_id limit {PRUNED}".encode()
    ).fetchall()
    parameters: dict[str, Any] = {
        "now": 2,
        "limit": PRUNED,
        "chain_ids": [chain_id for _, chain_id in oldest],
        "seqs": [seq for seq, _ in oldest],
        "kept": [],
        "first": None,
        "first_kept": None,
        "input": b"",
    }
    return {name: blocks_of(plan(store, connection, name, parameters)) for name in STATEMENTS}


def expire(store: PostgresStore, connection: psycopg.Connection, chains: int) -> None:
    """Add completed chains past their keep time."""
    connection.execute(
        f"""insert into "{store.schema}".job
                   (id, type, chain_id, status, created_at, scheduled_at, finished_at, expires_at, input)
            select id, 'resize', id, 'completed', 0, 0, 1, 1, '{{}}'
              from (select gen_random_uuid()::text as id from generate_series(1, {chains})) ids""".encode()
    )


def block_some(store: PostgresStore, connection: psycopg.Connection) -> None:
    """Let pending jobs name other chains as blockers, one in a hundred jobs."""
    connection.execute(
        f"""insert into "{store.schema}".blocker (job_id, position, chain_id)
            select id, 0, 'absent' || id from "{store.schema}".job where seq % 100 = 0""".encode()
    )


def analyze(store: PostgresStore, connection: psycopg.Connection) -> None:
    for table in ("job", "blocker", "place"):
        connection.execute(f'analyze "{store.schema}".{table}'.encode())
