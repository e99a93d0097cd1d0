"""The roles of the guide: each may do its own task and nothing else, and the error names the missing privilege."""

from __future__ import annotations

from typing import Any

import asyncpg
import psycopg
import pytest
from typer.testing import CliRunner

from holdfast import Event, Jobs, NotPermitted, SyncClient
from holdfast.cli.app import app
from holdfast.core.blocker_rules import WHEN_ENDED, WHEN_FAILED
from holdfast.core.details import FailureHook
from holdfast.core.record import Status
from holdfast.engine.operations import (
    CancelChains,
    ClaimJobs,
    Complete,
    Completion,
    Delete,
    Examine,
    Filter,
    GetChains,
    GetJobs,
    GetStats,
    Listen,
    ListJobs,
    Operation,
    Prune,
    Reap,
    Renew,
    Settle,
    Start,
)
from holdfast.stores.postgres import PostgresStore
from holdfast.testing.builders import completed, new_job
from tests.servers.postgres import Postgres
from tests.stores.postgres.database_roles import TERMS
from tests.stores.postgres.database_roles import roles as roles


def refused(store: PostgresStore, operation: Operation[Any], privilege: str) -> None:
    with pytest.raises(NotPermitted) as caught:
        store.perform_sync(operation)
    assert privilege in caught.value.privilege
    assert "permission denied" in str(caught.value)


# What each role may do


def test_the_reading_role_only_reads(roles: dict[str, PostgresStore], store: PostgresStore) -> None:
    job = new_job()
    store.perform_sync(Start((job,)))

    assert len(roles["reads"].perform_sync(ListJobs(Filter(), 10))) == 1
    assert roles["reads"].perform_sync(GetStats())[0].due == 1
    assert roles["reads"].perform_sync(GetChains((job.id,))) != [None]
    refused(roles["reads"], Start((new_job(),)), "EXECUTE on all functions in schema")


def test_the_starting_role_starts_all_kinds_of_chains(roles: dict[str, PostgresStore], store: PostgresStore) -> None:
    starts = roles["starts"]
    first, alone = new_job(key="one"), new_job()
    ended = new_job()
    store.perform_sync(Start((ended,)))
    store.perform_sync(CancelChains((ended.id,)))
    failing = new_job(after=(ended.id,), on_blocker_failure="fail", on_failure=FailureHook("refund", "failure"))

    starts.perform_sync(Start((first, new_job(after=(first.id,)), alone)))
    starts.perform_sync(Start(tuple(new_job() for _ in range(2500))))
    (lone,) = starts.perform_sync(Start((new_job(delay=1_000_000, priority=-3, keep=0),)))
    (again,) = starts.perform_sync(Start((new_job(key="one"),)))
    (same,) = starts.perform_sync(Start((alone,)))
    (failed,) = starts.perform_sync(Start((failing,)))

    assert not lone.deduplicated
    assert again.deduplicated
    assert again.chain.first.id == first.id
    assert same.deduplicated
    assert failed.chain.last.status is Status.FAILED
    assert starts.perform_sync(GetChains((failing.id,))) == [failed.chain]
    jobs = store.perform_sync(ListJobs(Filter(), 9999))
    assert len(jobs) == 2507
    assert [job.type for job in jobs].count("refund") == 1
    assert [job.open_blockers for job in jobs if job.status is Status.BLOCKED] == [1]


def test_the_starting_role_starts_jobs_that_wait_for_a_failure_or_an_end(
    roles: dict[str, PostgresStore], store: PostgresStore
) -> None:
    done, stopped, open_one = new_job(), new_job(), new_job()
    store.perform_sync(Start((done, stopped, open_one)))
    store.perform_sync(Complete(done.id, done.id, (Completion(b"1"),)))
    store.perform_sync(CancelChains((stopped.id,)))
    after = ((done.id,), (stopped.id,), (open_one.id,))
    jobs = [new_job(after=each, on_blocker_failure=rule) for rule in (WHEN_FAILED, WHEN_ENDED) for each in after]

    started = roles["starts"].perform_sync(Start(tuple(jobs)))

    statuses = [each.chain.first.status.value for each in started]
    assert statuses == ["cancelled", "pending", "blocked", "pending", "pending", "blocked"]


def test_the_starting_role_replaces_chains_that_have_not_begun(
    roles: dict[str, PostgresStore], store: PostgresStore
) -> None:
    store.perform_sync(Listen("me", 3_600_000_000))
    blocker, waiting = new_job(), new_job(key="k", input=b"1", delay=60)
    roles["starts"].perform_sync(Start((blocker, waiting)))

    (blocked,) = roles["starts"].perform_sync(Start((new_job(key="k", dedup="waiting", after=(blocker.id,)),)))
    (free,) = roles["starts"].perform_sync(Start((new_job(key="k", input=b"2", dedup="waiting", due_within=5),)))

    assert blocked.chain.first.status is Status.BLOCKED
    assert (free.chain.first.id, free.chain.first.input, free.deduplicated) == (waiting.id, b"2", True)
    assert free.chain.first.status is Status.PENDING
    (running,) = [job for job in store.perform_sync(ClaimJobs(TERMS, 9, "worker", "token")) if job.key == "k"]
    (other,) = roles["starts"].perform_sync(Start((new_job(key="k", dedup="waiting"),)))
    assert (other.deduplicated, other.chain.first.id == running.id) == (False, False)


def test_events_of_a_role_that_only_starts_are_recorded(
    roles: dict[str, PostgresStore], store: PostgresStore, connection: psycopg.Connection
) -> None:
    ended = new_job()
    store.perform_sync(Start((ended,)))
    store.perform_sync(CancelChains((ended.id,)))
    store.perform_sync(Listen("listener", 60_000_000))
    failing = new_job(after=(ended.id,), on_blocker_failure="fail")

    roles["starts"].perform_sync(Start((new_job(), failing)))

    rows = connection.execute(f'select kind from "{store.schema}".event order by seq'.encode()).fetchall()
    assert [kind for (kind,) in rows] == ["created", "created", "failed"]


def test_the_starting_role_may_do_nothing_else(roles: dict[str, PostgresStore], store: PostgresStore) -> None:
    job = new_job()
    roles["starts"].perform_sync(Start((job,)))

    works = "SELECT, INSERT, UPDATE and DELETE on all tables in schema"
    refused(roles["starts"], ClaimJobs(TERMS, 1, "worker", "token"), works)
    refused(roles["starts"], CancelChains((job.id,)), works)
    refused(roles["starts"], Delete((job.id,)), works)
    refused(roles["starts"], ListJobs(Filter(), 10), "SELECT on all tables in schema")
    refused(roles["starts"], GetJobs((job.id,)), "SELECT on all tables in schema")


def test_the_error_of_a_role_without_usage_names_the_schema(server: Postgres, store: PostgresStore) -> None:
    with server.connect() as connection:
        connection.execute(f"create role empty_{store.schema} login".encode())
        handle = PostgresStore(server.address(user=f"empty_{store.schema}", schema=store.schema, notify="off"))
        refused(handle, Start((new_job(),)), "USAGE on schema")
        handle.close_sync()
        connection.execute(f"drop role empty_{store.schema}".encode())


def test_the_working_role_may_do_everything_a_worker_does(roles: dict[str, PostgresStore]) -> None:
    worker = roles["works"]
    worker.perform_sync(Start((new_job(key="one", keep=0), new_job())))

    jobs = worker.perform_sync(ClaimJobs(TERMS, 2, "worker", "token"))
    worker.perform_sync(Renew(tuple((job.claim, 1) for job in jobs)))
    settled = worker.perform_sync(Settle((completed(jobs[0]),)))
    reaped = worker.perform_sync(Reap(("resize",), (), 10))

    assert [each.written for each in settled] == [True]
    assert len(reaped) == 1
    assert worker.perform_sync(Prune(10)) == [jobs[0].id]
    assert worker.perform_sync(Examine())


def test_the_starting_role_may_use_its_own_transaction(
    server: Postgres, roles: dict[str, PostgresStore], store: PostgresStore
) -> None:
    kept, undone = new_job(key="kept"), new_job()

    with psycopg.connect(
        host=str(server.home), port=server.port, user=f"starts_{store.schema}", dbname="postgres"
    ) as tx:
        roles["starts"].join_sync(tx).perform(Start((undone,)))
        tx.rollback()
        roles["starts"].join_sync(tx).perform(Start((kept,)))

    chains = store.perform_sync(GetChains((kept.id, undone.id)))
    assert [chain is None for chain in chains] == [False, True]


async def test_the_starting_role_may_use_asyncpg(
    server: Postgres, roles: dict[str, PostgresStore], store: PostgresStore
) -> None:
    job = new_job(key="kept")
    connect: Any = asyncpg.connect  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    connection: Any = await connect(
        host=str(server.home), port=server.port, user=f"starts_{store.schema}", database="postgres"
    )

    async with connection.transaction():
        await roles["starts"].join(connection).perform(Start((job,)))
    await connection.close()

    assert store.perform_sync(GetChains((job.id,))) != [None]


def test_a_missing_privilege_inside_a_transaction_is_named(
    server: Postgres, roles: dict[str, PostgresStore], store: PostgresStore
) -> None:
    with (
        psycopg.connect(host=str(server.home), port=server.port, user=f"reads_{store.schema}", dbname="postgres") as tx,
        pytest.raises(NotPermitted, match="EXECUTE on all functions"),
    ):
        roles["reads"].join_sync(tx).perform(Start((new_job(),)))


def test_the_command_line_exits_with_1(server: Postgres, roles: dict[str, PostgresStore], store: PostgresStore) -> None:
    address = server.address(user=f"reads_{store.schema}", schema=store.schema)

    ended = CliRunner().invoke(app, ["pause", "resize", "--store", address])

    assert ended.exit_code == 1
    assert "UPDATE and DELETE" in ended.output


def test_the_starting_role_observes_its_own_starts(
    server: Postgres, store: PostgresStore, roles: dict[str, PostgresStore]
) -> None:
    jobs, events = Jobs(), list[Event]()

    @jobs.job
    def resize() -> None: ...

    with (
        SyncClient(roles["starts"], jobs, observers=[events.append]) as client,
        server.connect(user=f"starts_{store.schema}") as connection,
    ):
        connection.autocommit = False
        client.start(resize.bind(), tx=connection)
        connection.rollback()
        first = client.start(resize.bind(), tx=connection)
        connection.commit()
        client.get(first)
        second = client.start(resize.bind(), tx=connection)
        connection.commit()

    assert [event.chain_id for event in events] == [first.id, second.id]
