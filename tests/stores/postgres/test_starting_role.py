"""An attacker with the role that only starts chains can do nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege, InvalidParameterValue, UndefinedFunction

from holdfast.core.record import Status
from holdfast.engine.operations import (
    ClaimJobs,
    Filter,
    GetJobs,
    ListJobs,
    Start,
)
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.verbs.start_only_functions import FUNCTIONS
from holdfast.testing.builders import new_job
from tests.servers.postgres import Postgres
from tests.stores.postgres.database_roles import TERMS, alone
from tests.stores.postgres.database_roles import roles as roles


@pytest.fixture
def starter(server: Postgres, store: PostgresStore, roles: dict[str, PostgresStore]) -> Iterator[psycopg.Connection]:
    """A connection of an attacker with the role that may only start jobs."""
    with server.connect(user=f"starts_{store.schema}") as connection:
        yield connection


def call(starter: psycopg.Connection, store: PostgresStore, name: str, *values: Any) -> list[Any]:
    """Call a function with these values."""
    placeholders = ", ".join(["%s"] * len(values))
    return starter.execute(f'select * from "{store.schema}".start_{name}({placeholders})'.encode(), values).fetchall()


# What an attacker with the starting role may try


def test_an_attacker_has_no_access_to_the_tables(starter: psycopg.Connection, store: PostgresStore) -> None:
    victim = new_job()
    store.perform_sync(Start((victim,)))
    forged = "created_at, scheduled_at, status, id, type, chain_id, chain_index, input, output"
    for statement in (
        f"insert into job ({forged}) values (0, 0, 'completed', 'x', 'resize', '{victim.id}', 1, '', '1')",
        "update job set awaited = false",
        "delete from job",
        "select token from job",
        "select * from record",
        "select * from readable",
        "insert into blocker values ('a', 0, 'b')",
        "insert into tally (type, jobs) values ('resize', -1)",
        "insert into event (at, kind, job_id, chain_id, type, attempt) values (0, 'completed', 'a', 'a', 'resize', 0)",
        "delete from key",
        "select * from attempt",
    ):
        starter.execute(f'set search_path = "{store.schema}"'.encode())
        with pytest.raises(InsufficientPrivilege):
            starter.execute(statement.encode())


def test_no_other_role_may_execute_the_functions(server: Postgres, store: PostgresStore) -> None:
    with server.connect() as connection:
        rows = connection.execute(
            """select proname, prosecdef, proconfig, has_function_privilege('public', pg_proc.oid, 'EXECUTE')
                 from pg_proc join pg_namespace on pg_namespace.oid = pronamespace
                where nspname = %s and proname like 'start\\_%%'""",
            [store.schema],
        ).fetchall()

    assert {row[0] for row in rows} == {f"start_{each.name}" for each in FUNCTIONS}
    assert {(row[1], tuple(row[2]), row[3]) for row in rows} == {(True, ("search_path=pg_catalog, pg_temp",), False)}


def test_an_attacker_cannot_add_a_job_to_a_chain(starter: psycopg.Connection, store: PostgresStore) -> None:
    (function,) = [each for each in FUNCTIONS if each.name == "insert_jobs"]
    assert {"chain_ids", "chain_indexes", "now"}.isdisjoint(function.parameters)
    inserting = [each.definition for each in FUNCTIONS if each.name.startswith("insert_")]
    written = re.findall(r"insert into holdfast\.job \(([^)]*)\)", "".join(inserting))
    assert len(written) == len(inserting) == 3
    for columns in written:
        assert {"output", "error", "token", "worker", "finished_at", "attempt"}.isdisjoint(re.split(r",\s*", columns))


def test_an_attacker_cannot_overwrite_a_job(starter: psycopg.Connection, store: PostgresStore) -> None:
    victim = new_job(input=b'"mine"')
    store.perform_sync(Start((victim,)))

    rows = call(starter, store, "insert_job", *alone(victim.id))

    (record,) = store.perform_sync(GetJobs((victim.id,)))
    assert rows == []
    assert record is not None
    assert record.input == b'"mine"'


@pytest.mark.parametrize(
    "values",
    [
        alone(""),
        alone("x" * 513),
        alone("a", priority=2**40),
        alone("a", keep=2**62),
        alone("a", keep=-1),
        alone("a", failure="other"),
    ],
    ids=["no id", "a long id", "a large priority", "a long keep", "a negative keep", "an unknown option"],
)
def test_an_attacker_cannot_write_values_that_a_worker_fails_on(
    starter: psycopg.Connection, store: PostgresStore, values: list[Any]
) -> None:
    with pytest.raises(InvalidParameterValue):
        call(starter, store, "insert_job", *values)


def test_an_attacker_cannot_fail_a_job_whose_blockers_did_not_fail(
    starter: psycopg.Connection, store: PostgresStore
) -> None:
    first = new_job()
    waiting = new_job(after=(first.id,), on_blocker_failure="fail")
    store.perform_sync(Start((first, waiting)))
    jobs = store.perform_sync(ListJobs(Filter(), 10))

    assert call(starter, store, "fail_blocked", b"forged", 1, [job.seq for job in jobs]) == []

    assert {job.status for job in store.perform_sync(ListJobs(Filter(), 10))} == {Status.PENDING, Status.BLOCKED}


def test_an_attacker_cannot_forge_events(
    starter: psycopg.Connection, store: PostgresStore, connection: psycopg.Connection
) -> None:
    job = new_job()
    store.perform_sync(Start((job,)))

    for kind in ("completed", "failed"):
        call(starter, store, "record_events", [1], [kind], [job.id], [job.id], ["resize"], [0], [None])

    assert connection.execute(f'select count(*) from "{store.schema}".event'.encode()).fetchone() == (0,)


def test_an_attacker_cannot_name_blockers_for_a_job_of_another_client(
    starter: psycopg.Connection, store: PostgresStore
) -> None:
    first, victim = new_job(), new_job()
    store.perform_sync(Start((first, victim)))
    (function,) = [each for each in FUNCTIONS if each.name == "insert_jobs"]
    given: dict[str, Any] = {name: [] for name in function.parameters}
    given |= {"ids": ["own"], "types": ["resize"], "inputs": [b"1"]}
    given |= {"blocked_ids": [victim.id, "own"], "positions": [0, 0], "blocker_ids": [first.id, first.id]}
    placeholders = ", ".join(f"%({name})s::{kind}" for name, kind in function.parameters.items())

    starter.execute(f'select * from "{store.schema}".start_insert_jobs({placeholders})'.encode(), given)

    with psycopg.connect(starter.info.dsn, user="postgres") as owner:
        assert owner.execute(f'select job_id from "{store.schema}".blocker'.encode()).fetchall() == [("own",)]


def test_an_attacker_gets_no_token(starter: psycopg.Connection, store: PostgresStore) -> None:
    job = new_job()
    store.perform_sync(Start((job,)))
    store.perform_sync(ClaimJobs(TERMS, 1, "worker", "secret-token"))

    (row,) = call(starter, store, "chains", [job.id])

    assert job.id in str(row)
    assert "secret-token" not in str(row)


def test_the_search_path_of_an_attacker_has_no_effect(
    starter: psycopg.Connection, store: PostgresStore, connection: psycopg.Connection
) -> None:
    role = f"starts_{store.schema}"
    evil = f"evil_{store.schema}"
    connection.execute(f"create schema {evil} authorization {role}".encode())
    starter.execute(
        f"create function {evil}.char_length(text) returns integer language plpgsql as "
        f"$$ begin raise exception 'called as %', current_user; end $$".encode()
    )
    starter.execute(f"set search_path = {evil}, pg_catalog".encode())

    assert len(call(starter, store, "insert_job", *alone("own"))[0][0]) == 1


def test_there_is_no_function_with_other_parameters(starter: psycopg.Connection, store: PostgresStore) -> None:
    with pytest.raises(UndefinedFunction):
        call(starter, store, "insert_job", *alone("own"), "completed")
