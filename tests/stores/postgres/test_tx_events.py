"""Events of transactions of the application, with all kinds of connections."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy.orm import Session

from holdfast import Client, Event, Jobs, SyncClient
from holdfast.engine.operations import FindMarks, Mark
from holdfast.engine.wakeups import Listener
from holdfast.stores.postgres import PostgresStore
from tests.servers.postgres_schemas import fresh_address
from tests.stores.postgres.app_connections import ASYNC, SYNC, url

jobs = Jobs()

ISOLATION = ("READ COMMITTED", "SERIALIZABLE")


@jobs.job
def double(number: int) -> int:
    return 2 * number


@pytest.fixture(scope="module")
def store() -> Iterator[PostgresStore]:
    """One store for all tests: each reads its own events."""
    store = PostgresStore(fresh_address())
    store.open_sync()
    yield store
    store.close_sync()


class Undone(Exception):
    """Rolls the application back to its savepoint."""


@pytest.mark.parametrize("isolation", ISOLATION)
@pytest.mark.parametrize("kind", SYNC, ids=lambda kind: kind.__name__)
def test_a_blocking_transaction_delivers_its_committed_events(kind: Any, isolation: str, store: PostgresStore) -> None:
    events: list[Event] = []
    with SyncClient(store, jobs, observers=[events.append]) as client:
        with kind(isolation) as application:
            kept = client.start(double.bind(1), tx=application.tx)
            with suppress(Undone), application.savepoint():
                client.start(double.bind(2), tx=application.tx)
                raise Undone
            with application.savepoint():
                also = client.start(double.bind(3), tx=application.tx)
            assert events == []
            application.commit()
        with kind(isolation) as application:
            client.cancel(kept, tx=application.tx)
            application.rollback()

    assert [(event.kind, event.chain_id) for event in events] == [("created", kept.id), ("created", also.id)]


@pytest.mark.parametrize("isolation", ISOLATION)
@pytest.mark.parametrize("kind", ASYNC, ids=lambda kind: kind.__name__)
async def test_an_async_transaction_delivers_its_committed_events(
    kind: Any, isolation: str, store: PostgresStore
) -> None:
    events: list[Event] = []
    async with Client(store, jobs, observers=[events.append]) as client:
        async with kind(isolation) as application:
            kept = await client.start(double.bind(1), tx=application.tx)
            with suppress(Undone):
                async with application.savepoint():
                    await client.start(double.bind(2), tx=application.tx)
                    raise Undone
            async with application.savepoint():
                also = await client.start(double.bind(3), tx=application.tx)
            assert events == []
            await application.commit()
        async with kind(isolation) as application:
            await client.cancel(kept, tx=application.tx)
            await application.rollback()

    assert [(event.kind, event.chain_id) for event in events] == [("created", kept.id), ("created", also.id)]


class TestSession:
    """Sessions of SQLAlchemy have a commit hook, with special cases."""

    @pytest.fixture
    def engine(self) -> Iterator[sqlalchemy.Engine]:
        engine = sqlalchemy.create_engine(url("psycopg"))
        yield engine
        engine.dispose()

    def test_the_commit_itself_delivers(self, store: PostgresStore, engine: sqlalchemy.Engine) -> None:
        events: list[Event] = []
        client = SyncClient(store, jobs, observers=[events.append])

        with Session(engine) as session, session.begin():
            client.start(double.bind(1), tx=session)
            assert events == []

        assert [event.kind for event in events] == ["created"]

    def test_a_session_that_was_closed_and_used_again(self, store: PostgresStore, engine: sqlalchemy.Engine) -> None:
        events: list[Event] = []
        client = SyncClient(store, jobs, observers=[events.append])
        session = Session(engine)

        client.start(double.bind(1), tx=session)
        session.close()
        kept = client.start(double.bind(2), tx=session)
        session.commit()
        session.close()

        assert [event.chain_id for event in events] == [kept.id]

    def test_a_savepoint_around_released_ones(self, store: PostgresStore, engine: sqlalchemy.Engine) -> None:
        events: list[Event] = []
        client = SyncClient(store, jobs, observers=[events.append])

        with Session(engine) as session, session.begin():
            outer = session.begin_nested()
            with session.begin_nested():
                client.start(double.bind(1), tx=session)
            outer.rollback()

        assert events == []

    @pytest.mark.parametrize("mode", ["create_savepoint", "rollback_only"])
    def test_a_session_inside_the_transaction_of_a_connection(
        self, mode: Any, store: PostgresStore, engine: sqlalchemy.Engine
    ) -> None:
        """The commit of the session does not commit the transaction of the connection."""
        events: list[Event] = []
        started: list[str] = []
        with SyncClient(store, jobs, observers=[events.append]) as client:
            for end in ("rollback", "commit"):
                with engine.connect() as connection:
                    outer = connection.begin()
                    with Session(connection, join_transaction_mode=mode) as session:
                        started.append(client.start(double.bind(1), tx=session).id)
                        session.commit()
                    assert events == []
                    getattr(outer, end)()

        assert [event.chain_id for event in events] == started[1:]


def test_found_marks_are_deleted_by_the_next_search(store: PostgresStore) -> None:
    for mark in ("one", "two"):
        with SYNC[0]("READ COMMITTED") as application:
            store.join_sync(application.tx).perform(Mark(mark))
            application.commit()

    assert store.perform_sync(FindMarks(("one", "two", "three"))).ids == ["one", "two"]
    assert store.perform_sync(FindMarks(("two",), forget=("one",))).ids == ["two"]
    assert store.perform_sync(FindMarks(("one", "two"))).ids == ["two"]


def test_a_forked_child_delivers_none_of_the_events_of_its_parent(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_wakeups(listener: Listener) -> Callable[[], None]:
        return lambda: None

    monkeypatch.setattr(store.wakeups, "subscribe", without_wakeups)
    events: list[Event] = []
    client = SyncClient(store, jobs, observers=[events.append])
    with SYNC[0]("READ COMMITTED") as application:
        chain = client.start(double.bind(1), tx=application.tx)
        application.commit()

    child = os.fork()
    if child == 0:
        client.close()
        os._exit(len(events))

    assert os.waitpid(child, 0)[1] == 0
    client.close()
    assert [event.chain_id for event in events] == [chain.id]
