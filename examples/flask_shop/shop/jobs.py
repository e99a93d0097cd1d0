"""The jobs of the shop: an order is processed, approved if it is large, and shipped; a report is made each night."""

from __future__ import annotations

from sqlalchemy import func, select

from holdfast import Bound, Jobs, Limit, Retry, SyncAttempt
from shop.database import session
from shop.models import Order, Report

APPROVAL_ABOVE = 100_00

jobs = Jobs("shop")
one_parcel_at_once = Limit("one-parcel-at-once", 1, by="customer")


@jobs.job
def process(attempt: SyncAttempt, order: int) -> str | Bound[str]:
    """Decide whether an order needs an approval. The status of the order and the next job commit together."""
    with attempt.complete(session=session) as done:
        found = session.get_one(Order, order)
        if found.cents > APPROVAL_ABOVE:
            found.status = "waits for approval"
            return done.continue_with(approval.bind(order, customer=found.customer))
        return done.continue_with(ship.bind(order, customer=found.customer))


@jobs.declare
def approval(order: int, customer: str) -> str:
    """Completed by the web application. No worker runs it."""
    raise NotImplementedError


@jobs.job(limits=[one_parcel_at_once], retry=Retry(initial=5, max_attempts=10))
def ship(attempt: SyncAttempt, order: int, customer: str) -> str:
    parcel = send_parcel(order, customer)  # slow: no transaction is open
    with attempt.complete(session=session) as done:
        session.get_one(Order, order).status = "shipped"
        return done.output(parcel)


def send_parcel(order: int, customer: str) -> str:
    """Stands for the carrier. The order number is its idempotency key: an attempt may be repeated."""
    return f"parcel {order} to {customer}"


@jobs.job
def report(attempt: SyncAttempt) -> int:
    with attempt.complete(session=session) as done:
        shipped = session.scalar(select(func.count()).where(Order.status == "shipped")) or 0
        session.add(Report(shipped=shipped))
        return done.output(shipped)


jobs.schedule("nightly-report", report.bind(), cron="0 2 * * *", tz="Europe/Paris")
