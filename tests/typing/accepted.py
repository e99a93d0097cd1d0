"""Code that both type checkers accept, and what they must infer from it. Never run: only read by them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, assert_type

from holdfast import (
    Attempt,
    Bound,
    Chain,
    ChainCancelled,
    ChainFailed,
    Client,
    ErrorText,
    JobCancelled,
    JobFailed,
    Jobs,
    Retry,
    SyncAttempt,
    SyncClient,
)
from holdfast.client.completing import Current, SyncCurrent

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


def types_with_parameters_keep_their_inputs() -> None:
    assert_type(pay.bind(order_id=1), Bound[str])
    assert_type(pay_plainly.bind(1), Bound[str])
    assert_type(pay_untyped.bind(1), Bound[str])
