"""SQLAlchemy and SQLModel: session factories, scoped sessions, wake-ups after the commit, and Alembic."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import sqlmodel
from alembic import op
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection, Engine, MetaData, Table, create_engine, event, make_url, text
from sqlalchemy.ext.asyncio import async_scoped_session, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker
from sqlmodel.ext.asyncio.session import AsyncSession as AsyncModelSession

from holdfast import Attempt, Client, Hints, Jobs, SyncAttempt, SyncClient, Worker
from holdfast.contrib.sqlalchemy import Starter, SyncStarter, attach, starter
from holdfast.contrib.sqlalchemy.alembic import filtered, include_object, migrate_holdfast
from holdfast.testing import drain
from tests.servers.postgres_schemas import fresh_address

jobs = Jobs()


@jobs.job
def ship(number: int) -> int:
    return number


class Hero(sqlmodel.SQLModel, table=True):
    id: int = sqlmodel.Field(primary_key=True)
    name: str


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/shop.db" if request.param == "sqlite" else fresh_address()


def alchemy_url(address: str, driver: str) -> str:
    if address.startswith("sqlite"):
        return address.replace("sqlite", "sqlite+aiosqlite") if driver == "asyncpg" else address
    url = make_url(address).set(drivername=f"postgresql+{driver}")
    query = {key: value for key, value in url.query.items() if key in ("host", "port")}
    return url.set(query=query).render_as_string(hide_password=False)


def schema_of(address: str) -> str:
    return str(make_url(address).query.get("schema", "holdfast"))


@pytest.fixture
def engine(address: str) -> Generator[Engine]:
    engine = create_engine(alchemy_url(address, "psycopg"))
    yield engine
    engine.dispose()


def _without_implicit_begin(connection: Any, record: Any) -> None:
    connection.isolation_level = None


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("begin")


def count(client: SyncClient) -> int:
    return sum(client.stats().counts.values())


def test_sessions_of_every_factory_start_in_their_transaction(address: str, engine: Engine) -> None:
    with SyncClient(address, jobs, migrate=True) as client:
        plain = attach(client, sessionmaker(engine, info={"own": 1}))
        scoped = attach(client, scoped_session(sessionmaker(engine, class_=sqlmodel.Session)))
        with plain.begin() as session:
            assert isinstance(starter(session), SyncStarter)
            starter(session).start(ship.bind(1))
            assert session.info["own"] == 1
            assert count(client) == 0
        starter(scoped).start(ship.bind(2))
        scoped.commit()
        starter(scoped).start(ship.bind(3))
        scoped.remove()
        assert count(client) == 2
        with pytest.raises(RuntimeError, match="attach"):
            starter(Session(engine))
        wrong: Any = attach
        with pytest.raises(TypeError, match="SyncClient"):
            wrong(Client(address, jobs), plain)
        with pytest.raises(TypeError, match="session factory"):
            wrong(client, engine)


async def test_async_and_scoped_sessions_of_sqlmodel_start_and_complete_with_models(address: str) -> None:
    engine = create_async_engine(alchemy_url(address, "asyncpg"))
    own = Jobs()

    @own.job
    async def rename(attempt: Attempt, hero: int) -> str:
        async with attempt.complete(session=sessions) as done:
            found = (await done.tx.exec(sqlmodel.select(Hero).where(Hero.id == hero))).one()
            found.name += "!"
            return done.output(found.name)

    @own.job
    async def rename_scoped(attempt: Attempt, hero: int) -> str:
        async with attempt.complete(session=scoped) as done:
            found = await scoped.get_one(Hero, hero)  # the session of the block is that of the scope
            found.name += "?"
            return done.output(found.name)

    async with engine.begin() as connection:
        await connection.run_sync(Hero.metadata.create_all)
    async with Client(address, own, migrate=True) as client:
        sessions = attach(client, async_sessionmaker(engine, class_=AsyncModelSession))
        scoped = attach(client, async_scoped_session(sessions, asyncio.current_task))
        async with sessions.begin() as session:
            session.add(Hero(id=1, name="Ada"))
            assert isinstance(starter(session), Starter)
            chain = await starter(session).start(rename.bind(1))
        second = await starter(scoped).start(rename_scoped.bind(1), after=[chain])
        await scoped.commit()
        await scoped.remove()

        await drain(client)

        assert await client.wait(second) == "Ada!?"
        assert not scoped.registry.registry  # no session is left in the scopes of the attempts
    async with engine.begin() as connection:
        await connection.run_sync(Hero.metadata.drop_all)
    await engine.dispose()


def test_a_blocking_scoped_session_completes_with_models(address: str, engine: Engine) -> None:
    own = Jobs()
    Hero.metadata.create_all(engine)
    scoped = scoped_session(sessionmaker(engine, class_=sqlmodel.Session))

    @own.job
    def rename(attempt: SyncAttempt, hero: int) -> str:
        with attempt.complete(session=scoped) as done:
            found = scoped.get_one(Hero, hero)
            found.name += "!"
            return done.output(found.name)

    async def run() -> str:
        async with Client(address, own) as client, Worker(client):
            return await client.run(rename.bind(2), timeout=30)

    with SyncClient(address, own, migrate=True), Session(engine) as session:
        session.add(Hero(id=2, name="Ada"))
        session.commit()
    assert asyncio.run(run()) == "Ada!"
    with Session(engine) as session:
        assert session.get_one(Hero, 2).name == "Ada!"
    Hero.metadata.drop_all(engine)


def test_hints_are_sent_after_the_commit_and_never_on_flush(
    address: str, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SyncClient(address, jobs, migrate=True) as client:
        hints: list[Hints] = []
        monkeypatch.setattr(client.store, "send", hints.append)
        with Session(engine) as session:
            client.start(ship.bind(1), tx=session)
            session.flush()
            with session.begin_nested():
                client.start(ship.bind(2), tx=session)
            with session.begin_nested() as nested:
                client.start(ship.bind(3), tx=session)
                nested.rollback()
            assert not hints
            session.commit()
            assert [each.due for each in hints] == [{"ship"}, {"ship"}]
            client.start(ship.bind(4), tx=session)
            session.rollback()
            client.start(ship.bind(5), tx=session)
        assert len(hints) == 2
        assert count(client) == 2


def test_the_recipe_for_test_suites_rolls_back_what_its_session_committed(address: str, engine: Engine) -> None:
    """SQLAlchemy's recipe: a session joins the transaction of a connection, and each commit is a savepoint."""
    if engine.dialect.name == "sqlite":  # savepoints need SQLAlchemy's recipe for transactions of pysqlite
        event.listen(engine, "connect", _without_implicit_begin)
        event.listen(engine, "begin", _begin)
    with SyncClient(address, jobs, migrate=True) as client:
        with engine.connect() as connection:
            outer = connection.begin()
            with Session(connection, join_transaction_mode="create_savepoint") as session:
                client.start(ship.bind(1), tx=session)
                session.commit()
                client.start(ship.bind(2), tx=session)
                session.rollback()
                client.start(ship.bind(3), tx=session)
                session.commit()
                assert sum(client.stats(tx=session).counts.values()) == 2
            outer.rollback()
        assert count(client) == 0
        with engine.connect() as connection, connection.begin():
            with Session(connection, join_transaction_mode="create_savepoint") as session:
                client.start(ship.bind(4), tx=session)
                session.commit()
            assert count(client) == 0
        assert count(client) == 1


# SQLAlchemy does not read indexes on expressions, and Alembic leaves out our tables only after it has read them.
@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection of expression-based index holdfast_job_origin")
def test_alembic_runs_the_migrations_and_ignores_the_tables(address: str, engine: Engine) -> None:
    schema = schema_of(address)
    own = MetaData()
    Table("orders", own, sqlmodel.Column("id", sqlmodel.Integer, primary_key=True))

    def differences(connection: Connection, include: Any) -> list[Any]:
        def ours(name: str | None, kind: str, _: Any) -> bool:  # the server has the schemas of other tests, too
            return kind != "schema" or name in (None, schema)

        options = {"include_object": include, "include_schemas": True, "include_name": ours}
        compared = compare_metadata(MigrationContext.configure(connection, opts=options), own)
        return [each for each in compared if schema in str(each) or "holdfast" in str(each)]

    with engine.begin() as connection:
        context = MigrationContext.configure(connection)
        with Operations.context(context), context.begin_transaction(_per_migration=True):
            migrate_holdfast(schema=schema)
            op.migrate_holdfast(schema=schema)  # type: ignore[attr-defined, unused-ignore] # nothing is missing
    with SyncClient(address, jobs) as client:
        assert client.store.migrate_sync() == []
        client.start(ship.bind(1))
    with engine.connect() as connection:
        assert differences(connection, None)
        assert not differences(connection, filtered(schema=schema))
        assert not differences(connection, filtered(include_object, schema=schema))
        if schema == "holdfast":
            assert not differences(connection, include_object)


def test_alembic_prints_the_migrations_as_a_script(address: str, engine: Engine) -> None:
    schema, script = schema_of(address), io.StringIO()
    context = MigrationContext.configure(dialect=engine.dialect, opts={"as_sql": True, "output_buffer": script})

    with Operations.context(context):
        migrate_holdfast(schema=schema)
        if engine.dialect.name == "postgresql":
            with pytest.raises(ValueError, match="schema="):
                migrate_holdfast(schema="a'; drop table orders")

    with engine.begin() as connection:
        native: Any = connection.connection.driver_connection
        (native.executescript if engine.dialect.name == "sqlite" else native.execute)(script.getvalue())
    with SyncClient(address, jobs) as client:
        assert client.store.migrate_sync() == []


def test_alembic_names_a_database_that_holdfast_does_not_support() -> None:
    context = MigrationContext.configure(dialect_name="mysql", opts={"as_sql": True})

    with Operations.context(context), pytest.raises(NotImplementedError, match="mysql"):
        migrate_holdfast()


async def test_alembic_runs_the_migrations_on_an_async_engine() -> None:
    address = fresh_address()
    engine = create_async_engine(alchemy_url(address, "asyncpg"))

    def migrate(connection: Connection) -> None:
        with Operations.context(MigrationContext.configure(connection)):
            migrate_holdfast(schema=schema_of(address))

    async with engine.begin() as connection:
        await connection.run_sync(migrate)
        assert (await connection.execute(text("select 1"))).scalar() == 1
    async with Client(address, jobs) as client:
        assert await client.store.migrate() == []
    await engine.dispose()
