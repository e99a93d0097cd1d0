"""Instructions that a connection sends at once."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.connection.connect import connect
from holdfast.stores.postgres.connection.connection import SyncConnection
from holdfast.stores.postgres.connection.rendering import Renderer, Style
from holdfast.stores.postgres.plan import Begin, Commit, Together
from holdfast.stores.sql.plan import Statement

WRITE = "insert into holdfast.paused (type) values (:type::text) returning type"
READ = "select paused.type from holdfast.paused order by paused.type"


@pytest.fixture(params=["pipelined", "one after the other"])
def session(store: PostgresStore, request: pytest.FixtureRequest) -> Iterator[SyncConnection]:
    store.migrate_sync()
    connection = connect(store.address, Renderer.of(store.schema, Style.NUMBERED), limited=True)
    connection.session.prepares = request.param == "pipelined"
    yield connection
    connection.close()


def write(type: str) -> Statement:
    return Statement(WRITE, {"type": type})


def test_each_instruction_has_its_result(session: SyncConnection) -> None:
    result = session.execute(Together([write("a"), Begin(), write("b"), Commit(), Statement(READ)]))

    assert result == []
    assert [list(part) for part in result.parts] == [[("a",)], [], [("b",)], [], [("a",), ("b",)]]
    assert not session.in_transaction


def test_a_transaction_may_continue_in_other_instructions(session: SyncConnection) -> None:
    session.execute(Together([Begin(), write("a")]))
    assert session.in_transaction
    session.execute(Together([write("b")]))
    assert session.in_transaction
    session.rollback()

    assert session.execute(Statement(READ)) == []


def test_nothing_is_committed_behind_an_error(session: SyncConnection, store: PostgresStore) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation):
        session.execute(Together([write("a"), Begin(), write("b"), write("a"), write("c"), Commit()]))

    other = connect(store.address, Renderer.of(store.schema, Style.NUMBERED), limited=True)
    assert other.execute(Statement(READ)) == [("a",)]
    other.close()
