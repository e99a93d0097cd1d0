"""The jobs of the shop: charge an order, wait for approval if it is large, ship it, and bill the customer."""

from __future__ import annotations

import asyncio

from holdfast import Attempt, Bound, Jobs, Retry
from holdfast.demo.ledger import ENTER

BIG = 900
"""Orders of this amount or more need an approval."""

jobs = Jobs()


class CardDeclined(Exception):
    """The bank declined the card. A later attempt may succeed."""


@jobs.job(retry=Retry(initial=0.5, jitter=0, max_attempts=10))
async def charge(attempt: Attempt, order: int, amount: int) -> int | Bound[int]:
    """Charge the card, and continue the chain."""
    await asyncio.sleep(0.15)  # the bank
    if is_declined_at_first(order) and attempt.job.attempt == 1:
        raise CardDeclined(f"order {order}: the card was declined")
    async with attempt.complete() as done:  # the row in the ledger and the continuation commit together
        await done.tx.execute(ENTER, [attempt.job.id, attempt.job.type, order, attempt.job.attempt])
        step = approve if amount >= BIG else ship
        return done.continue_with(step.bind(order=order, amount=amount))


@jobs.declare
async def approve(order: int, amount: int) -> int:
    """Declared without a handler: the job waits for an external completion."""
    raise NotImplementedError


@jobs.job(priority=1)  # paid orders go before new ones
async def ship(attempt: Attempt, order: int, amount: int) -> int:
    """Pack and ship. The amount is the output of the whole chain."""
    await asyncio.sleep(0.15)  # packing
    async with attempt.complete() as done:
        await done.tx.execute(ENTER, [attempt.job.id, attempt.job.type, order, attempt.job.attempt])
        return done.output(amount)


@jobs.job(priority=2)
async def bill(attempt: Attempt, customer: int) -> int:
    """Add up what the customer ordered. It was started `after` those orders, so it runs when all of them are done."""
    total: int = sum(attempt.blockers)
    async with attempt.complete() as done:
        await done.tx.execute(ENTER, [attempt.job.id, attempt.job.type, customer, attempt.job.attempt])
        return done.output(total)


def is_declined_at_first(order: int) -> bool:
    return order % 24 == 7
