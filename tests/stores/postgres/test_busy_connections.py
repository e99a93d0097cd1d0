"""A connection that the application leaves busy: Holdfast must not read the results of another statement as its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from psycopg import pq

from holdfast.core.record import Status
from holdfast.engine.operations import Complete, Completion, GetJobs, LockChain, Start
from holdfast.stores.postgres import PostgresStore
from holdfast.testing.builders import new_job

BUSY = "the connection of this transaction is busy"


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
