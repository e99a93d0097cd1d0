"""Code that both type checkers accept, and what they must infer from it. Never run: only read by them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, assert_type

from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker
from sqlalchemy.orm import Session as BlockingSession
from sqlalchemy.orm import sessionmaker

from holdfast import (
    Attempt,
    Bound,
    Chain,
    ChainCancelled,
    ChainFailed,
    Client,
    ErrorText,
    Event,
    Job,
    JobCancelled,
    JobFailed,
    Jobs,
    Plugin,
    Retry,
    StartingJob,
    Step,
    SyncAttempt,
    SyncClient,
    Worker,
    each,
)
from holdfast.client.current_job import Current, SyncCurrent
from holdfast.contrib.fastapi import DurableBackgroundTasks, Starter
from holdfast.contrib.sqlalchemy import attach, starter
from holdfast.contrib.starter import SyncStarter
from holdfast.engine.store import Store

jobs = Jobs()


@dataclass
class Receipt:
    payment: str


# Plain and async functions, with and without options


@jobs.job
async def resize(image_id: int, width: int = 200) -> str:
    return f"{image_id}@{width}"


@jobs.job(name="send-email", retry=Retry(max_attempts=3), lease=60, keep=timedelta(days=1), executor="process")
def send_email(to: str, /, template: str, *, urgent: bool = False) -> None: ...


@jobs.job()
def nothing() -> int:
    return 1


@jobs.job
async def store(key: str, data: dict[str, Any]) -> dict[str, Any]:
    return {key: data}


@jobs.job
def handle(payload: Any, width: int) -> int:
    return width


@jobs.job
async def handle_object(payload: object) -> int:
    return 1


# Handlers that continue, or may


@jobs.job
async def crop(image_id: int) -> str | Bound[str]:
    return resize.bind(image_id) if image_id else "none"


@jobs.job
def rotate(image_id: int) -> Bound[str]:
    return crop.bind(image_id=image_id)


@jobs.job
async def maybe(image_id: int) -> str | Bound[str | None] | None:
    return crop.bind(image_id)


# Handlers that take an attempt


class Connection:
    """Stands for the connection of a driver."""

    def execute(self, statement: str) -> int:
        return len(statement)


class Session(Connection):
    """Stands for the session of an ORM."""


@jobs.job
async def charge(attempt: Attempt, order_id: int) -> Receipt | Bound[Receipt]:
    return Receipt(f"{order_id}")


@jobs.job(lease=5)
async def ship(attempt: Attempt, order_id: int) -> Receipt:
    return Receipt(f"{order_id}")


@jobs.job
def refund(attempt: SyncAttempt, order_id: int, *, full: bool = True) -> Bound[Receipt]:
    return ship.bind(order_id)


def bound_calls_have_the_output_of_their_chain() -> None:
    assert_type(resize.bind(1), Bound[str])
    assert_type(resize.bind(image_id=1, width=5), Bound[str])
    assert_type(send_email.bind("a", template="b", urgent=True), Bound[None])
    assert_type(nothing.bind(), Bound[int])
    assert_type(store.bind("a", {"b": 1}), Bound[dict[str, Any]])
    assert_type(crop.bind(1), Bound[str])
    assert_type(rotate.bind(1), Bound[str])
    assert_type(maybe.bind(1), Bound[str | None])
    assert_type(charge.bind(order_id=1), Bound[Receipt])
    assert_type(ship.bind(1), Bound[Receipt])
    assert_type(refund.bind(1, full=False), Bound[Receipt])
    assert_type(resize.bind(json.loads("1")), Bound[str])
    assert_type(resize.bind(1).options(key="a", delay=timedelta(1), after=["b"]), Bound[str])


def parameters_of_any_type_are_no_attempts() -> None:
    handle.bind(payload=1, width=2)
    handle_object.bind(payload=[])


async def calling_a_type_calls_the_function(attempt: Attempt, sync_attempt: SyncAttempt) -> None:
    assert_type(await resize(1), str)
    assert_type(nothing(), int)
    assert_type(await crop(1), str | Bound[str])
    assert_type(await ship(attempt, order_id=1), Receipt)
    assert_type(refund(sync_attempt, 1, full=True), Bound[Receipt])


# Contracts without a body; mypy would like one


@jobs.declare
async def publish(image_id: int, url: str) -> str: ...  # type: ignore[empty-body]


@jobs.declare
def measure(image_id: int) -> float: ...  # type: ignore[empty-body]


@publish.handler
async def publish_here(image_id: int, url: str) -> str:
    return url


@publish.handler
async def publish_with_attempt(attempt: Attempt, image_id: int, url: str) -> str | Bound[str]:
    return resize.bind(image_id)


@publish.handler
def publish_plainly(attempt: SyncAttempt, image_id: int, url: str) -> Bound[str]:
    return resize.bind(image_id)


@measure.handler
async def measure_async(attempt: Attempt, image_id: int) -> float:
    return 1.0


@measure.handler
def measure_plainly(image_id: int) -> float:
    return 1.0


assert_type(publish.bind(1, url="/"), Bound[str])
assert_type(measure.bind(1), Bound[float])


# Outputs


async def outputs_are_typed(client: Client) -> None:
    chain = await client.start(resize.bind(1), delay=60, key="a", dedup="any", after=["b"])
    assert_type(chain, Chain[str])
    assert_type(await client.wait(chain, timeout=30), str)
    assert_type(await client.run(charge.bind(1)), Receipt)
    assert_type(await client.start_many([crop.bind(1), rotate.bind(2)]), list[Chain[str]])


def outputs_are_typed_without_await(client: SyncClient) -> None:
    assert_type(client.run(resize.bind(1)), str)
    assert_type(client.wait(client.start(charge.bind(1))), Receipt)


async def completing_a_chain_takes_its_output(client: Client, sync_client: SyncClient) -> None:
    chain = await client.start(charge.bind(1))
    async with client.completing(chain) as current:
        await current.continue_with(ship.bind(1), delay=5)
        assert_type(await current.start(resize.bind(1)), Chain[str])
        await current.output(Receipt("a"))
    with sync_client.completing(sync_client.start(maybe.bind(1))) as here:
        here.continue_with(crop.bind(1))
        here.output(None)


async def completing_an_id_takes_anything(client: Client, sync_client: SyncClient) -> None:
    async with client.completing("id") as current:
        await current.output(1)
        await current.continue_with(resize.bind(1))
    with sync_client.completing("id") as here:
        here.output("one")


async def completing_an_id_with_a_type_takes_what_that_gives(client: Client, sync_client: SyncClient) -> None:
    async with client.completing("id", type=charge) as current:
        assert_type(current, Current[Receipt])
        await current.output(Receipt("a"))
        await current.continue_with(ship.bind(1))
    async with client.completing(await client.start(charge.bind(1)), type=ship) as current:
        await current.output(Receipt("a"))
    async with client.completing("id", type="charge") as anything:
        await anything.output(1)
    with sync_client.completing("id", type=resize) as here:
        assert_type(here, SyncCurrent[str])
        here.output("one")


def errors_have_type_message_and_traceback(failure: ChainFailed | JobFailed | ChainCancelled | JobCancelled) -> None:
    assert_type(failure.error, ErrorText | None)


# Attempts with type parameters


@jobs.job
async def pay(attempt: Attempt[Connection], order_id: int) -> str:
    async with attempt.prepare() as tx:
        assert_type(tx, Connection)
    async with attempt.prepare(session=Session) as session:
        assert_type(session, Session)
    async with attempt.complete(session=Session) as with_session:
        assert_type(with_session.tx, Session)
    async with attempt.complete() as done:
        assert_type(done.tx, Connection)
        return done.output("paid")


@jobs.job
def pay_plainly(attempt: SyncAttempt[Connection, tuple[int, str]], order_id: int) -> str:
    assert_type(attempt.blockers, tuple[int, str])
    with attempt.prepare() as tx:
        assert_type(tx, Connection)
    with attempt.complete(session=Session) as with_session:
        assert_type(with_session.tx, Session)
    with attempt.complete() as done:
        assert_type(done.tx, Connection)
        return done.output("paid")


@jobs.job
async def pay_untyped(attempt: Attempt, order_id: int) -> str:
    async with attempt.prepare() as tx:
        await tx.execute("select 1")
    async with attempt.complete() as done:
        connection: Connection = done.tx
        await done.tx.anything()
        total: int = sum(attempt.blockers)
        first = attempt.blockers[0]
        return done.output(f"{first} {total} {connection}")


@jobs.job
async def pay_on_any_store(attempt: Attempt, order_id: int) -> str:
    async with attempt.prepare() as tx:
        if tx is None:
            return "no transactions here"
    async with attempt.complete() as done:
        if done.tx is not None:
            await done.tx.execute("select 1")
        return done.output("paid")


@jobs.job
def pay_plainly_on_any_store(attempt: SyncAttempt, order_id: int) -> str:
    with attempt.prepare() as tx:
        assert tx is None or tx is not None
    with attempt.complete() as done:
        assert_type(done.tx, Any)
        return done.output("paid" if done.tx is None else "paid in a transaction")


def types_with_parameters_keep_their_inputs() -> None:
    assert_type(pay.bind(order_id=1), Bound[str])
    assert_type(pay_plainly.bind(1), Bound[str])
    assert_type(pay_untyped.bind(1), Bound[str])


# The state of a lifespan, and plugins


class Pool:
    size: int = 1


@asynccontextmanager
async def with_pool(worker: Worker) -> AsyncGenerator[Pool]:
    assert_type(worker.id, str)
    yield Pool()


class Sending(Plugin):
    def observe(self, event: Event) -> None:
        assert_type(event.kind, str)

    async def around(self, attempt: Attempt | SyncAttempt, call_next: Callable[[], Awaitable[Any]]) -> Any:
        assert_type(attempt.job.carrier, dict[str, str])
        return await call_next()

    @contextmanager
    def starting(self, jobs: Sequence[StartingJob]) -> Generator[None]:
        assert_type(jobs[0].carrier, dict[str, str])
        yield

    def carrier(self) -> dict[str, str]:
        return {"sent": "along"}

    @asynccontextmanager
    async def lifespan(self, worker: Worker) -> AsyncGenerator[None]:
        yield


async def timing(attempt: Attempt | SyncAttempt, call_next: Callable[[], Awaitable[Any]]) -> Any:
    return await call_next()


shop = Jobs(name="shop", middlewares=[timing], observers=[print], lifespan=with_pool, plugins=[Sending()])


@shop.job
async def with_state(attempt: Attempt[Any, Any, Pool], number: int) -> int:
    assert_type(attempt.state, Pool)
    return attempt.state.size + number


@shop.job
def with_sync_state(attempt: SyncAttempt[Any, Any, Pool]) -> int:
    assert_type(attempt.state, Pool)
    return attempt.state.size


async def cancels_by_chain_or_by_key(client: Client, blocking: SyncClient, chain: Chain[int]) -> None:
    assert_type(await client.cancel(chain), Chain[Any])
    assert_type(await client.cancel(chain.id, reason="no longer needed"), Chain[Any])
    assert_type(await client.cancel(key="user-7"), list[Chain[Any]])
    assert_type(blocking.cancel(chain), Chain[Any])
    assert_type(blocking.cancel(key="user-7", type="resize"), list[Chain[Any]])


async def starts_in_a_session(
    client: Client, session: AsyncSession, blocking: SyncClient, plain: BlockingSession
) -> None:
    starter = Starter(client, session)
    assert_type(await starter.start(resize.bind(1), delay=5), Chain[str])
    assert_type(await starter.start_many([resize.bind(1)]), list[Chain[str]])
    assert_type(SyncStarter(blocking, plain).start(resize.bind(1)), Chain[str])
    tasks = DurableBackgroundTasks(client, session)
    tasks.add_task(resize, 1, width=5)
    tasks.add_task(resize.bind(1).options(delay=60))


# Declared blockers


@jobs.job
async def extract(page: int) -> str:
    return f"{page}"


@jobs.job
def total(page: int) -> int | Bound[int]:
    return page


@jobs.job(blockers=(extract, total))
async def load(attempt: Attempt[Any, tuple[str, int]], table: str) -> bytes:
    assert_type(attempt.blockers, tuple[str, int])
    return b""


@jobs.job(blockers=(extract, extract), name="plain-load", lease=5)
def load_plainly(attempt: SyncAttempt[Connection, tuple[str, ...], Pool], *, table: str = "a") -> Bound[bytes]:
    assert_type(attempt.blockers, tuple[str, ...])
    return load_rest.bind()


@jobs.job(blockers=each(extract))
async def merge(attempt: Attempt[Any, tuple[str, ...]]) -> str:
    return "".join(attempt.blockers)


@jobs.job(blockers=(extract,))
async def load_untyped(attempt: Attempt, table: str) -> bytes:
    first: str = attempt.blockers[0]
    return first.encode()


@jobs.job(blockers=(extract, total, extract, total))
def load_without_attempt(table: str | None, rows: int = 5, *, quickly: bool = False) -> bytes:
    return b""


@jobs.job(blockers=(extract, total, extract, total, extract))
async def load_many(attempt: Attempt[Any, tuple[Any, ...]], table: str) -> bytes:
    return b""


@jobs.job(blockers=(extract, total, extract))
async def load_nothing() -> bytes:
    return b""


@jobs.job
async def load_rest() -> bytes:
    return b""


@jobs.declare(blockers=(load,))
async def publish_loaded(table: str) -> str: ...  # type: ignore[empty-body]


@publish_loaded.handler
async def publish_loaded_here(attempt: Attempt[Any, tuple[bytes]], table: str) -> str:
    return table


def bound_calls_have_the_chains_that_they_need() -> None:
    assert_type(load.bind("a"), Bound[bytes, tuple[Chain[str], Chain[int]]])
    assert_type(load_plainly.bind(table="a"), Bound[bytes, tuple[Chain[str], Chain[str]]])
    assert_type(merge.bind(), Bound[str, tuple[Chain[str], ...]])
    assert_type(load_untyped.bind(table="a"), Bound[bytes, tuple[Chain[str]]])
    assert_type(
        load_without_attempt.bind(table=None, quickly=True),
        Bound[bytes, tuple[Chain[str], Chain[int], Chain[str], Chain[int]]],
    )
    assert_type(load_many.bind(table="a"), Bound[bytes, tuple[Chain[Any], ...]])
    assert_type(load_nothing.bind(), Bound[bytes, tuple[Chain[str], Chain[int], Chain[str]]])
    assert_type(publish_loaded.bind("a"), Bound[str, tuple[Chain[bytes]]])


async def starts_name_the_chains(client: Client, blocking: SyncClient, a: Chain[str], b: Chain[int]) -> None:
    assert_type(await client.start(load.bind("t"), after=(a, b), key="k", tx=None), Chain[bytes])
    assert_type(blocking.start(load.bind("t"), after=(a, b), delay=5), Chain[bytes])
    assert_type(load.bind("t").options(after=(a, b), key="k"), Bound[bytes])
    assert_type(await client.start_many([merge.bind().options(after=(a, a)), extract.bind(1)]), list[Chain[str]])
    assert_type(await client.run(load.bind("t").options(after=(a, b))), bytes)
    assert_type(await client.start(merge.bind(), after=(a, a, a)), Chain[str])
    async with client.completing("id", type=load) as current:
        assert_type(current, Current[bytes])
        await current.continue_with(load.bind("t"), after=(a, b), delay=1)
        assert_type(await current.start(merge.bind(), after=(a,)), Chain[str])
    with blocking.completing("id", type=load_rest) as here:
        here.continue_with(load.bind("t"), after=(a, b))
        assert_type(here.start(merge.bind(), after=(a,), key="k"), Chain[str])


@jobs.job
async def load_all(attempt: Attempt, pages: int) -> bytes | Bound[bytes]:
    async with attempt.complete() as done:
        one = await done.start(extract.bind(1))
        two = await done.start(total.bind(1))
        await done.start(merge.bind(), after=(one,))
        return done.continue_with(load.bind("t"), after=(one, two), priority=1)


@jobs.job
def load_all_plainly(attempt: SyncAttempt, pages: int) -> bytes | Bound[bytes]:
    with attempt.complete() as done:
        one = done.start(extract.bind(1))
        two = done.start(total.bind(1), key="a")
        done.start(merge.bind(), after=(one,))
        if pages:
            return done.continue_with(load.bind("t").options(after=(one, two)))
        return done.continue_with(load.bind("t"), after=(one, two))


async def charge_card(order: int, *, key: str = "") -> Receipt:
    return Receipt(f"{order}{key}")


def text_of(order: int) -> str:
    return str(order)


async def reserve_row(tx: Any, order: int) -> int:
    return order


@jobs.job
async def steps_are_typed(attempt: Attempt, order: int) -> str:
    assert_type(await attempt.step("a", charge_card, order), Receipt)
    assert_type(await attempt.step("b", charge_card, order, key="k"), Receipt)
    assert_type(await attempt.step("c", charge_card, order, each=1, timeout=5), Receipt)
    assert_type(await attempt.step("d", text_of, order), str)
    assert_type(await attempt.step("e", text_of, order, retry=Retry(), returns=str), str)
    assert_type(await attempt.step("f", partial(charge_card, key="k"), order, each=1), Receipt)
    assert_type(await attempt.tx_step("g", reserve_row, order), int)
    assert_type(await attempt.tx_step("h", reserve_row, order, each="a", session=None), int)
    assert_type(await attempt.receive("i", str, timeout=60), str)
    await attempt.sleep("j", 60)
    async for row in attempt.cursor("k", [1, 2]):
        assert_type(row, int)
    async for page in attempt.cursor("l", rows_after, every=10):
        assert_type(page, int)
    return attempt.step_id("a", each=1)


def rows_after(last: int | None) -> list[int]:
    return [last or 0]


@jobs.job
def steps_are_typed_plainly(attempt: SyncAttempt, order: int) -> str:
    assert_type(attempt.step("a", text_of, order), str)
    assert_type(attempt.step("b", text_of, order, each=[1, "a"]), str)
    assert_type(attempt.receive("c", int), int)
    for row in attempt.cursor("d", {"x": 1}):
        assert_type(row, str)
    return text_of(attempt.tx_step("e", lambda tx, number: 2 * number, order))


async def messages_are_typed(client: Client, blocking: SyncClient, chain: Chain[str]) -> None:
    assert_type(await client.send(chain, "paid", {"amount": 3}), bool)
    assert_type(blocking.send("id", "paid", 3, tx=None), bool)
    assert_type(await client.steps(chain), Sequence[Step])
    assert_type(await client.retry(chain, from_step="charge"), Job)


def starts_of_session_factories(client: Client, blocking: SyncClient) -> None:
    factory = attach(client, async_sessionmaker[AsyncSession]())
    assert_type(factory, async_sessionmaker[AsyncSession])
    assert_type(starter(factory()), Starter)
    assert_type(starter(attach(blocking, sessionmaker[BlockingSession]())()), SyncStarter)


# Shards


async def sharded(stores: dict[str, str], mixed: dict[str, str | Store]) -> None:
    async with Client({"eu": "postgresql://eu/jobs", "us": "postgresql://us/jobs"}, jobs) as client:
        assert_type(await client.start(resize.bind(1), shard="eu"), Chain[str])
        assert_type(await client.start_many([resize.bind(1).options(shard="eu")]), list[Chain[str]])
    Client(stores, jobs)
    SyncClient(mixed, jobs)
