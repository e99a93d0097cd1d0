"""The application whose jobs fill the store: twenty types, and some for single pages."""

from __future__ import annotations

from holdfast import Attempt, Jobs, Limit

jobs = Jobs()
TYPES = tuple(f"type_{number:02}" for number in range(20))
"""The types of the history. The last one is rare."""


async def work(number: int) -> int:
    return number


for name in TYPES:
    jobs.job(name=name)(work)


@jobs.job
async def join(attempt: Attempt, number: int) -> int:
    return len(attempt.blockers)


@jobs.job(limits=[Limit("per-customer", 1, by="customer")])
async def render(customer: int) -> int:
    return customer


@jobs.declare
async def approve(order: int) -> int:
    raise NotImplementedError
