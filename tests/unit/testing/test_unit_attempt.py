"""Attempts for unit tests: handlers with an attempt run without a store and without a worker."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import sessionmaker

from holdfast import Attempt, Bound, Jobs, SyncAttempt
from holdfast.testing import sync_unit_attempt, unit_attempt

jobs = Jobs()


class Connection:
    """A connection of a test."""

    def __init__(self) -> None:
        self.executed: list[str] = []

    async def execute(self, sql: str) -> None:
        self.executed.append(sql)


@jobs.job
async def notify(order: int) -> None:
    return None


@jobs.job
async def charge(attempt: Attempt, order: int) -> str | Bound[str]:
    async with attempt.prepare() as tx:
        await tx.execute("select")
    await attempt.progress(0.5, "halfway")
    if attempt.job.attempt > 1:
        return charge.bind(order + 1)
    async with attempt.complete() as done:
        await done.tx.execute("update")
        await done.start(notify.bind(order), delay=60)
        return done.output(f"{attempt.blockers[0]} {attempt.state} {attempt.job.input['order']}")


async def test_an_async_handler_runs_with_a_connection_of_the_test() -> None:
    connection = Connection()

    async with unit_attempt(charge.bind(7), tx=connection, blockers=("stock",), state="shop") as attempt:
        assert await charge(attempt, 7) == "stock shop 7"

    assert connection.executed == ["select", "update"]
    assert attempt.reported == [(0.5, "halfway")]
    assert [chain.first_job.input for chain in attempt.started] == [{"order": 7}]
    async with unit_attempt(charge.bind(7), tx=connection, attempt=2) as attempt:
        assert isinstance(await charge(attempt, 7), Bound)


@jobs.job
def pay(attempt: SyncAttempt, order: int) -> int:
    attempt.progress(1)
    with attempt.complete() as done:
        done.start(notify.bind(order))
        assert done.tx is None
        return done.output(order)


def test_a_plain_handler_runs_in_the_test() -> None:
    with sync_unit_attempt(pay.bind(7)) as attempt:
        assert pay(attempt, 7) == 7
        assert not attempt.signal.aborted

    assert len(attempt.started) == 1
    assert attempt.reported == [(1, None)]


@jobs.job
async def fulfil(attempt: Attempt, order: int) -> str:
    payment = await attempt.step("charge", charge_card, order)
    await attempt.tx_step("reserve", reserve, order)
    return f"{payment} {await attempt.receive('label', str, timeout=60)}"


async def charge_card(order: int) -> str:
    return f"payment {order}"


async def reserve(tx: Any, order: int) -> None:
    await tx.execute(f"reserve {order}")


@jobs.job
def fulfil_plainly(attempt: SyncAttempt, order: int) -> str:
    return attempt.step("charge", str, order) + attempt.receive("label", str, timeout=60)


async def test_steps_and_messages_work_without_a_store() -> None:
    connection = Connection()
    async with unit_attempt(fulfil.bind(7), tx=connection, messages={"label": "A-17"}) as attempt:
        assert await fulfil(attempt, 7) == "payment 7 A-17"
    assert connection.executed == ["reserve 7"]
    with sync_unit_attempt(fulfil_plainly.bind(7), messages={"label": "A-17"}) as plain:
        assert fulfil_plainly(plain, 7) == "7A-17"


async def test_sessions_commit_at_the_end_of_the_block_and_roll_back_after_an_error(tmp_path: Any) -> None:
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/shop.db")
    sessions = async_sessionmaker(engine)
    own = Jobs()

    @own.job
    async def insert(attempt: Attempt, number: int) -> int:
        async with attempt.complete(session=sessions) as done:
            await done.tx.execute(text("insert into orders values (:number)"), {"number": number})
            await done.start(notify.bind(number))
            return done.output(number)

    async with engine.begin() as connection:
        await connection.execute(text("create table orders (number integer)"))
    async with unit_attempt(insert.bind(1)) as attempt:
        await insert(attempt, 1)
    with suppress(ZeroDivisionError):
        async with unit_attempt(insert.bind(2)) as attempt:
            await insert(attempt, 2)
            raise ZeroDivisionError
    async with engine.connect() as connection:
        assert (await connection.scalars(text("select number from orders"))).all() == [1]
    await engine.dispose()


def test_a_blocking_session_commits_at_the_end_of_the_block(tmp_path: Any) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/shop.db")
    sessions = sessionmaker(engine)
    own = Jobs()

    @own.job
    def insert(attempt: SyncAttempt, number: int) -> int:
        with attempt.complete(session=sessions) as done:
            done.tx.execute(text("insert into orders values (:number)"), {"number": number})
            return done.output(number)

    with engine.begin() as connection:
        connection.execute(text("create table orders (number integer)"))
    with sync_unit_attempt(insert.bind(1)) as attempt:
        insert(attempt, 1)
    with suppress(ZeroDivisionError), sync_unit_attempt(insert.bind(2)) as attempt:
        insert(attempt, 2)
        raise ZeroDivisionError
    with engine.connect() as connection:
        assert connection.scalars(text("select number from orders")).all() == [1]
    engine.dispose()
