"""Frequent statements of the application are prepared, except behind a pooler."""

from __future__ import annotations

from holdfast.stores.postgres import PostgresStore
from tests.servers.postgres import Postgres
from tests.stores.postgres.transaction_pooler import transaction_pooler

USES = 7


def prepared(store: PostgresStore) -> list[int]:
    """How many times the statement is prepared in the session, after its first use and after the last one."""
    tx = store.begin_sync()
    found: list[int] = []
    for number in range(USES):
        tx.native.execute("select %s::int as used_often", [number])
        if number in (0, USES - 1):
            count = "select count(*) from pg_prepared_statements where statement ~ 'as used_often'"
            ((prepared,),) = tx.native.execute(count, prepare=False).fetchall()
            found.append(prepared)
    tx.rollback()
    return found


def test_a_frequent_statement_of_the_application_is_prepared(store: PostgresStore) -> None:
    assert prepared(store) == [0, 1]


def test_behind_a_pooler_no_statement_is_prepared(store: PostgresStore, server: Postgres) -> None:
    with transaction_pooler(server.port) as port:
        pooled = PostgresStore(server.tcp_address(port=port, schema=store.schema, notify="off"))

        assert prepared(pooled) == [0, 0]

        pooled.close_sync()
