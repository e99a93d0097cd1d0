"""Collapsing starts and orders in the application's own transactions. SQL stores only."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import Order
from tests.conformance.client.application import Application
from tests.conformance.client.harness import ClientHarness, in_time, value
from tests.conformance.client.transactional import application as application
from tests.conformance.client.transactional import make_store as make_store

CALLERS = 64
CONNECTIONS = 16
"""How many callers have an open transaction at once."""


# SQLite has one writer at a time: transactions of several callers cannot overlap there.
@pytest.mark.parametrize("make_store", ["postgres"], indirect=True)
@pytest.mark.parametrize("options", [{"replace": True}, {"debounce": 60}], ids=["replace", "debounce"])
async def test_concurrent_transactions_that_collapse_starts_leave_one_chain(
    harness: ClientHarness, application: Application, options: dict[str, Any]
) -> None:
    resize = harness.jobs.job(value)
    connections = asyncio.Semaphore(CONNECTIONS)

    async def start(number: int) -> tuple[str, bool]:
        async with connections, application.transaction() as tx:
            await application.note(tx, str(number))
            chain = await harness.client.start(resize.bind(number), key="user-7", tx=tx, **options)
            return chain.id, chain.deduplicated

    answers = await in_time(asyncio.gather(*(start(number) for number in range(CALLERS))))

    assert len({id for id, _ in answers}) == 1
    assert sum(not deduplicated for _, deduplicated in answers) == 1
    stored = await harness.client.get(answers[0][0])
    assert stored.job.input["number"] in range(CALLERS)
    assert len(await application.notes()) == CALLERS


@pytest.mark.parametrize("options", [{"replace": True}, {"debounce": 60}], ids=["replace", "debounce"])
async def test_a_collapsing_start_rolls_back_with_the_applications_rows(
    harness: ClientHarness, application: Application, options: dict[str, Any]
) -> None:
    resize = harness.jobs.job(value)
    first = await harness.client.start(resize.bind(1), key="user-7", **options)

    async def replace() -> None:
        async with application.transaction() as tx:
            chain = await harness.client.start(resize.bind(2), key="user-7", tx=tx, **options)
            assert (chain.id, chain.deduplicated) == (first.id, True)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await replace()

    assert (await harness.client.get(first)).job.input == {"number": 1}


@pytest.mark.parametrize("make_store", ["postgres"], indirect=True)
async def test_a_job_that_commits_after_a_later_one_was_claimed_runs_after_it(
    harness: ClientHarness, application: Application
) -> None:
    ran: list[int] = []

    async def note(number: int) -> None:
        ran.append(number)

    job = harness.jobs.job(name="note", limits=[Order("account")])(note)
    async with application.transaction() as tx:
        await harness.client.start(job.bind(1), tx=tx)
        # The start above holds no lock that another start or a claim needs.
        await in_time(harness.client.start(job.bind(2)))
        await in_time(harness.drain())
        assert ran == [2]

    await harness.client.start(job.bind(3))
    await harness.drain()

    assert ran == [2, 1, 3]
