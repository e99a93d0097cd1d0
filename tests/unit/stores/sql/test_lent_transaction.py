"""Which SQL begins or ends a transaction."""

from __future__ import annotations

import pytest

from holdfast.stores.sql.lent_transaction import transaction_command


@pytest.mark.parametrize(
    ("sql", "command"),
    [
        ("commit", "COMMIT"),
        ("  Commit Work", "COMMIT"),
        ("-- the end\nEND;", "END"),
        ("/* now */ rollback", "ROLLBACK"),
        ("rollback transaction", "ROLLBACK"),
        ("begin immediate", "BEGIN"),
        ("start  transaction read only", "START TRANSACTION"),
        ("abort", "ABORT"),
        ("prepare transaction 'x'", "PREPARE TRANSACTION"),
        ("select 1; commit", "COMMIT"),
        ("select ';'; commit; begin", "COMMIT"),
        ("select $body$ ; $body$ /* ; */ ; rollback", "ROLLBACK"),
    ],
)
def test_a_transaction_command_is_found(sql: str, command: str) -> None:
    assert transaction_command(sql) == command


@pytest.mark.parametrize(
    "sql",
    [
        "savepoint here",
        "rollback to here",
        "ROLLBACK TO SAVEPOINT here",
        "rollback work to savepoint here",
        "rollback transaction to here",
        "release savepoint here",
        "select 'x; commit'",
        'select "x; commit" from t',
        "select E'\\'; commit'",
        "select 1; -- commit\n",
        "select $$; commit$$",
        "select 1 /* ; commit */",
        "commitment",
        "prepare plan as select 1",
        "select case when true then 1 end",
        "create trigger t after insert on a begin update b set c = 1; end",
        "create function f() returns int begin atomic select 1; end",
        "",
    ],
)
def test_every_other_statement_is_allowed(sql: str) -> None:
    assert transaction_command(sql) is None
