"""The jobs of the shop: an order is processed, approved if it is large, and shipped; a report is made each night."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import func, select

from holdfast import Attempt, Bound, Jobs, Limit, Retry, Worker
from shop.database import Sessions, make_engine
from shop.models import Order, Report

APPROVAL_ABOVE = 100_00


@asynccontextmanager
async def sessions(worker: Worker) -> AsyncGenerator[Sessions]:
    """The state of each worker: `attempt.state` is its session factory."""
    engine = make_engine()
    yield Sessions(engine)
    await engine.dispose()


jobs = Jobs("shop", lifespan=sessions)
one_parcel_at_once = Limit("one-parcel-at-once", 1, by="customer")

ShopAttempt = Attempt[Any, Any, Sessions]


@jobs.job
async def process(attempt: ShopAttempt, order: int) -> str | Bound[str]:
    """Decide whether an order needs an approval. The status of the order and the next job commit together."""
    async with attempt.complete(session=attempt.state) as done:
        found = await done.tx.get_one(Order, order)
        if found.cents > APPROVAL_ABOVE:
            found.status = "waits for approval"
            return done.continue_with(approval.bind(order, customer=found.customer))
        return done.continue_with(ship.bind(order, customer=found.customer))


@jobs.declare
async def approval(order: int, customer: str) -> str:
    """Completed by the web application. No worker runs it."""
    raise NotImplementedError


@jobs.job(limits=[one_parcel_at_once], retry=Retry(initial=5, max_attempts=10))
async def ship(attempt: ShopAttempt, order: int, customer: str) -> str:
    parcel = await send_parcel(order, customer)  # slow: no transaction is open
    async with attempt.complete(session=attempt.state) as done:
        found = await done.tx.get_one(Order, order)
        found.status = "shipped"
        return done.output(parcel)


async def send_parcel(order: int, customer: str) -> str:
    """Stands for the carrier. The order number is its idempotency key: an attempt may be repeated."""
    return f"parcel {order} to {customer}"


@jobs.job
async def report(attempt: ShopAttempt) -> int:
    async with attempt.complete(session=attempt.state) as done:
        shipped = await done.tx.scalar(select(func.count()).where(Order.status == "shipped"))
        done.tx.add(Report(shipped=shipped or 0))
        return done.output(shipped or 0)


jobs.schedule("nightly-report", report.bind(), cron="0 2 * * *", tz="Europe/Paris")
