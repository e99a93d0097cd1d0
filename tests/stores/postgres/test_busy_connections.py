"""A connection that the application leaves busy: Holdfast must not read the results of another statement as its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import psycopg
import pytest
from psycopg import pq

from holdfast import Jobs, SyncClient
from holdfast.core.record import Status
from holdfast.engine.operations import CancelChains, Complete, Completion, GetJobs, LockChain, Start
from holdfast.stores.postgres import PostgresStore
from holdfast.testing.builders import new_job

BUSY = "the connection of this transaction is busy"


@pytest.fixture
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.stores.postgres.connection.transaction.LOCK_SECONDS", 0.1)


def send(server: pq.abc.PGconn) -> None:
    """Leave the result of a statement unread."""
    server.send_query(b"select 1")
    while server.flush():
        pass


def pipeline(server: pq.abc.PGconn) -> None:
    """Leave a pipeline open, with a result that is unread."""
    server.enter_pipeline_mode()
    server.send_query_params(b"select 1", None)
    server.pipeline_sync()
    while server.flush():
        pass


def empty_pipeline(server: pq.abc.PGconn) -> None:
    server.enter_pipeline_mode()


def copy_out(server: pq.abc.PGconn) -> None:
    server.exec_(b"copy (select 1) to stdout")


def copy_in(server: pq.abc.PGconn) -> None:
    server.exec_(b"create temporary table copied (n int) on commit drop")
    server.exec_(b"copy copied from stdin")


LEAVES = [send, pipeline, empty_pipeline, copy_out, copy_in]


@pytest.mark.parametrize("leave", LEAVES)
def test_a_busy_connection_is_refused(store: PostgresStore, leave: Callable[[pq.abc.PGconn], None]) -> None:
    job = new_job()
    store.perform_sync(Start((job,)))
    tx = store.begin_sync()
    current = tx.perform(LockChain(job.id))
    leave(tx.native.pgconn)

    with pytest.raises(RuntimeError, match=BUSY):
        tx.perform(Complete(job.id, current.id, (Completion(output=b"1"),)))
    with pytest.raises(RuntimeError, match=BUSY):
        tx.commit()

    (record,) = store.perform_sync(GetJobs((job.id,)))
    assert record is not None
    assert record.status is Status.PENDING


@pytest.mark.parametrize("leave", LEAVES)
async def test_a_busy_connection_is_refused_in_async_code(
    store: PostgresStore, leave: Callable[[pq.abc.PGconn], None]
) -> None:
    job = new_job()
    await store.perform(Start((job,)))
    tx = await store.begin()
    current = await tx.perform(LockChain(job.id))
    leave(tx.native.pgconn)

    with pytest.raises(RuntimeError, match=BUSY):
        await tx.perform(Complete(job.id, current.id, (Completion(output=b"1"),)))
    with pytest.raises(RuntimeError, match=BUSY):
        await tx.commit()

    (record,) = await store.perform(GetJobs((job.id,)))
    assert record is not None
    assert record.status is Status.PENDING


def test_an_operation_inside_a_pipeline_of_the_application_is_refused(store: PostgresStore) -> None:
    """The server would answer neither the statements of the pipeline nor those of the operation."""
    job = new_job()
    tx = store.begin_sync()

    with tx.native.pipeline():
        tx.native.execute("select 1")
        with pytest.raises(RuntimeError, match=BUSY):
            tx.perform(Start((job,)))
    tx.perform(Start((job,)))
    tx.commit()

    assert store.perform_sync(GetJobs((job.id,))) != [None]


def test_a_rollback_does_not_wait_for_a_pipeline_that_is_left_open(store: PostgresStore) -> None:
    """The ROLLBACK would wait in the pipeline until the deadline."""
    job = new_job()
    store.perform_sync(Start((job,)))
    tx = store.begin_sync()
    tx.perform(LockChain(job.id))
    tx.native.pgconn.enter_pipeline_mode()

    tx.rollback()

    assert len(store.perform_sync(CancelChains((job.id,)))) == 1  # the lock was released


def test_a_savepoint_that_rolls_back_after_many_statements_keeps_the_statements_of_the_store(
    store: PostgresStore,
) -> None:
    """psycopg then discards all prepared statements of the session, if it has prepared one itself."""
    jobs = [new_job() for _ in range(3)]
    for number, job in enumerate(jobs):
        tx = store.begin_sync()
        tx.perform(Start((job,)))
        for _ in range(8):
            tx.native.execute("select %s::int", [number])
        with pytest.raises(psycopg.errors.DivisionByZero), tx.native.transaction():
            tx.native.execute("select 1 / 0")
        tx.perform(GetJobs((job.id,)))
        tx.commit()

    assert None not in store.perform_sync(GetJobs(tuple(job.id for job in jobs)))


COPY_OUT, COPY_IN = "copy (select n from generate_series(1, 3) n) to stdout", "copy copied from stdin"
ENDS = ["commit", "operation", "rollback"]


@pytest.mark.usefixtures("short_wait")
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("left", ["out", "out, all rows read", "in", "stream"])
def test_a_copy_or_a_stream_that_is_left_open_is_refused(store: PostgresStore, left: str, end: str) -> None:
    """psycopg holds the lock of the connection meanwhile: waiting for it would take forever."""
    job = new_job()
    store.perform_sync(Start((job,)))
    tx = store.begin_sync()
    current = tx.perform(LockChain(job.id))
    tx.native.execute("create temporary table copied (n int) on commit drop")
    cursor = tx.native.cursor()
    if left == "stream":
        rows = cursor.stream("select n from generate_series(1, 3) n")
        next(rows)
    else:
        opened = cursor.copy(COPY_IN if left == "in" else COPY_OUT)
        copy = opened.__enter__()
        if left == "in":
            copy.write(b"1\n")
        elif "all" in left:
            assert len(list(copy)) == 3

    if end == "operation":
        with pytest.raises(RuntimeError, match=BUSY):
            tx.perform(Complete(job.id, current.id, (Completion(output=b"1"),)))
    if end == "rollback":
        tx.rollback()
    else:
        with pytest.raises(RuntimeError, match=BUSY):
            tx.commit()

    (record,) = store.perform_sync(GetJobs((job.id,)))
    assert record is not None
    assert record.status is Status.PENDING


@pytest.mark.usefixtures("short_wait")
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("left", ["out", "out, all rows read", "in", "stream", "in another task"])
async def test_a_copy_or_a_stream_that_is_left_open_is_refused_in_async_code(
    store: PostgresStore, left: str, end: str
) -> None:
    job = new_job()
    await store.perform(Start((job,)))
    tx = await store.begin()
    current = await tx.perform(LockChain(job.id))
    await tx.native.execute("create temporary table copied (n int) on commit drop")
    cursor = tx.native.cursor()
    if left == "stream":
        rows = cursor.stream("select n from generate_series(1, 3) n")
        await anext(rows)
    else:
        opened = cursor.copy(COPY_IN if left == "in" else COPY_OUT)
        entering = opened.__aenter__()
        copy = await (asyncio.ensure_future(entering) if "task" in left else entering)
        if left == "in":
            await copy.write(b"1\n")
        elif "all" in left:
            assert len([row async for row in copy]) == 3

    if end == "operation":
        with pytest.raises(RuntimeError, match=BUSY):
            await tx.perform(Complete(job.id, current.id, (Completion(output=b"1"),)))
    if end == "rollback":
        await tx.rollback()
    else:
        with pytest.raises(RuntimeError, match=BUSY):
            await tx.commit()

    (record,) = await store.perform(GetJobs((job.id,)))
    assert record is not None
    assert record.status is Status.PENDING


@pytest.mark.usefixtures("short_wait")
def test_completing_reports_a_copy_that_is_left_open(store: PostgresStore) -> None:
    """In the main thread, the rollback runs in another thread than the COPY."""
    jobs = Jobs()

    @jobs.declare
    def approve() -> None: ...

    with SyncClient(store, jobs) as client:
        chain = client.start(approve.bind())
        opened: list[object] = []

        def complete() -> None:
            with client.completing(chain) as current:
                copy = current.tx.cursor().copy(COPY_OUT)
                opened.append(copy)
                assert len(list(copy.__enter__())) == 3
                current.output(None)

        with pytest.raises(RuntimeError, match=BUSY):
            complete()

        found = client.get(chain.id)
        assert found is not None
        assert found.status == "pending"


def test_the_lock_of_a_lent_connection_is_not_wrapped(store: PostgresStore) -> None:
    """A signal handler may raise between two instructions of Python code, and would leave a wrapped lock locked."""
    tx = store.begin_sync()

    assert type(tx.native.lock) is type(threading.Lock())
    tx.rollback()


def test_a_copy_that_has_ended_commits_with_the_completion(store: PostgresStore) -> None:
    job = new_job()
    store.perform_sync(Start((job,)))
    tx = store.begin_sync()
    current = tx.perform(LockChain(job.id))
    tx.native.execute("create temporary table copied (n int)")
    with tx.native.cursor() as cursor, cursor.copy(COPY_IN) as copy:
        copy.write(b"1\n")
    tx.perform(Complete(job.id, current.id, (Completion(output=b"1"),)))
    tx.commit()

    (record,) = store.perform_sync(GetJobs((job.id,)))
    assert record is not None
    assert record.status is Status.COMPLETED


async def test_an_operation_waits_for_a_copy_of_another_task(store: PostgresStore) -> None:
    job = new_job()
    tx = await store.begin()
    await tx.native.execute("create temporary table copied (n int) on commit drop")
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def copying() -> None:
        async with tx.native.cursor() as cursor, cursor.copy(COPY_IN) as copy:
            begun.set()
            await go_on.wait()
            await copy.write(b"1\n")

    async with asyncio.TaskGroup() as group:
        group.create_task(copying())
        await begun.wait()
        starting = group.create_task(tx.perform(Start((job,))))
        await asyncio.sleep(0)
        assert not starting.done()
        go_on.set()
    await tx.commit()

    assert await store.perform(GetJobs((job.id,))) != [None]
