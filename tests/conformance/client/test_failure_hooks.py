"""Failure hooks: `on_failure=` starts a chain when a job fails permanently."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Bound, Cancel, Fail, Failure, JobType, Retry, Status
from tests.conformance.client.harness import ClientHarness

ONCE = Retry(initial=1, max_attempts=1)


@pytest.fixture
def failures(harness: ClientHarness) -> list[Failure]:
    """What the hook `refund` received."""
    return []


@pytest.fixture
def refund(harness: ClientHarness, failures: list[Failure]) -> JobType[..., ..., Any]:
    @harness.jobs.job(priority=3, keep=60)
    async def refund(failure: Failure) -> str:
        failures.append(failure)
        return f"refunded {failure.type}"

    return refund


async def test_a_permanent_failure_starts_the_hook(
    harness: ClientHarness, refund: JobType[..., ..., Any], failures: list[Failure]
) -> None:
    @harness.jobs.job(retry=ONCE, on_failure=refund)
    async def charge(order: int, note: str = "x") -> None:
        raise ValueError("no luck")

    chain = await harness.client.start(charge.bind(2**53 + 1))
    await harness.drain()

    assert failures == [
        Failure(chain.id, chain.id, "charge", {"order": 2**53 + 1, "note": "x"}, "ValueError: no luck", 1)
    ]
    (hook,) = (await harness.client.list_chains(type="refund")).items
    assert (hook.output, hook.status, hook.job.priority) == ("refunded charge", Status.COMPLETED, 3)


async def test_fail_a_last_attempt_and_a_continuation_start_the_hook(
    harness: ClientHarness, refund: JobType[..., ..., Any], failures: list[Failure]
) -> None:
    @harness.jobs.job(on_failure=refund)
    async def settle_up(order: int) -> None:
        raise Fail("never")

    @harness.jobs.job(retry=Retry(initial=1, max_attempts=3))
    async def charge(order: int) -> Bound[None]:
        return settle_up.bind(order)

    @harness.jobs.job(retry=Retry(initial=1, max_attempts=3), on_failure=refund)
    async def ship(order: int) -> None:
        raise OSError("closed")

    chain = await harness.client.start(charge.bind(1))
    await harness.drain()
    await harness.client.start(ship.bind(2))
    await harness.drain(advance=True)

    assert [(failure.type, failure.attempts) for failure in failures] == [("settle_up", 1), ("ship", 3)]
    assert failures[0].chain_id == chain.id != failures[0].job_id
    assert failures[1].error == "OSError: closed"


async def test_a_cancellation_starts_no_hook_and_a_second_failure_starts_it_again(
    harness: ClientHarness, refund: JobType[..., ..., Any], failures: list[Failure]
) -> None:
    @harness.jobs.job(retry=ONCE, on_failure=refund)
    async def charge(order: int) -> None:
        raise Cancel("stop") if order == 0 else ValueError("no luck")

    await harness.client.start(charge.bind(0))
    chain = await harness.client.start(charge.bind(1))
    await harness.drain()
    await harness.client.retry(chain)
    await harness.drain()

    assert [failure.job_id for failure in failures] == [chain.id, chain.id]


async def test_the_hook_is_the_one_declared_where_the_job_was_started(
    harness: ClientHarness, refund: JobType[..., ..., Any], failures: list[Failure]
) -> None:
    """A process that does not know the type of a blocked job fails it with its hook."""

    @harness.jobs.job(retry=ONCE)
    async def extract() -> None:
        raise ValueError("no luck")

    @harness.jobs.job(on_blocker_failure="fail", on_failure=refund)
    async def load(number: int) -> None: ...

    blocker = await harness.client.start(extract.bind())
    waiting = await harness.client.start(load.bind(5), after=[blocker])
    vars(harness.jobs)["_types"].pop("load")
    await harness.drain()

    assert [(failure.job_id, failure.attempts) for failure in failures] == [(waiting.id, 0)]
    assert failures[0].input == {"number": 5}


async def test_the_failure_of_a_hook_starts_the_hook_of_the_hook_with_the_trace(harness: ClientHarness) -> None:
    received: list[Any] = []

    @harness.jobs.job
    async def page(report: Failure) -> None:
        received.append(report)

    @harness.jobs.job(retry=ONCE, on_failure=page)
    async def refund(failure: Failure) -> None:
        raise ValueError("bank closed")

    @harness.jobs.job(retry=ONCE, on_failure=refund)
    async def charge() -> None:
        raise ValueError("no luck")

    client = type(harness.client.client)(harness.store, harness.jobs, trace=lambda: "00-abc-def-01")
    harness.client.client = client
    await harness.client.start(charge.bind())
    await harness.drain()

    assert [failure.type for failure in received] == ["refund"]
    assert received[0].input["failure"]["type"] == "charge"
    jobs = (await harness.client.list_jobs()).items
    assert [(job.type, job.trace) for job in jobs] == [(name, "00-abc-def-01") for name in ("page", "refund", "charge")]
