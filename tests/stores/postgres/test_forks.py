"""A store that was open at a fork: parent and child continue, each with its own sessions."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Callable

import psycopg

from holdfast import Jobs, SyncClient
from holdfast.core.lifecycle import NewJob
from holdfast.engine.operations import GetJobs, Start
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.connection.connect import connect_async
from holdfast.stores.postgres.connection.rendering import Renderer, Style
from holdfast.stores.sql.plan import Statement
from holdfast.testing.builders import new_job


def in_child(act: Callable[[], None]) -> int:
    """Run a function in a forked child, and return its exit code."""
    with warnings.catch_warnings():
        # The store has a thread, and newer Python versions warn about forks with threads. This is tested here.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def sessions(connection: psycopg.Connection) -> set[int]:
    rows = connection.execute("select pid from pg_stat_activity where application_name = 'holdfast'")
    return {row[0] for row in rows}


def test_a_child_shares_no_session_with_its_parent(store: PostgresStore, connection: psycopg.Connection) -> None:
    before, meanwhile, after = new_job(), new_job(), new_job()
    store.perform_sync(Start((before,)))
    tx = store.begin_sync()
    tx.perform(Start((after,)))
    own = sessions(connection)
    received: list[object] = []
    store.wakeups.subscribe(received.append)

    def work() -> None:
        store.perform_sync(Start((meanwhile,)))
        assert store.perform_sync(GetJobs((before.id, after.id)))[1] is None
        assert len(sessions_of_child() - own) == 2, "one for verbs, one that listens"
        store.close_sync()

    def sessions_of_child() -> set[int]:
        with psycopg.connect(connection.info.dsn) as observer:
            return sessions(observer)

    assert in_child(work) == 0

    # The child, and its exit, ended no session of the parent and read no answer from one.
    tx.commit()
    assert own <= sessions(connection)
    found = store.perform_sync(GetJobs((before.id, meanwhile.id, after.id)))
    assert [job is not None for job in found] == [True, True, True]


def test_a_client_that_a_child_closes_stays_open_in_its_parent(address: str) -> None:
    with SyncClient(address, Jobs()) as client:
        job = new_job()

        assert in_child(client.close) == 0

        client.store.perform_sync(Start((job,)))
        assert client.get(job.id) is not None


def test_a_child_of_a_child_opens_its_own_sessions_too(store: PostgresStore) -> None:
    first, second = new_job(), new_job()

    def work() -> None:
        store.perform_sync(Start((first,)))
        assert in_child(lambda: start(second)) == 0
        start(new_job())

    def start(job: NewJob) -> None:
        store.perform_sync(Start((job,)))

    assert in_child(work) == 0
    assert None not in store.perform_sync(GetJobs((first.id, second.id)))


async def test_garbage_collection_in_a_child_ends_no_session_of_its_parent(store: PostgresStore) -> None:
    opened = await connect_async(store.address, Renderer.of(store.schema, Style.NUMBERED), limited=True)

    assert in_child(opened.__del__) == 0

    assert await asyncio.wait_for(opened.send(Statement("select 1")), 60) == [(1,)]
    opened.close()
