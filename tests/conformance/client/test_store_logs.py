"""StoreLogs: what a handler logs is in the report of its job, on every store."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from holdfast import Fail, Jobs
from holdfast.contrib.logging import StoreLogs
from holdfast.testing.conformance import StoreFactory
from tests.conformance.client.async_adapters import AttemptAdapter, Mode
from tests.conformance.client.harness import ClientHarness

log = logging.getLogger("shop")


@pytest.fixture(autouse=True)
def _info() -> Any:
    log.setLevel(logging.INFO)
    yield
    log.setLevel(logging.NOTSET)


@pytest.fixture(params=Mode, ids=lambda mode: mode.value)
async def harness(request: pytest.FixtureRequest, make_store: StoreFactory) -> AsyncGenerator[ClientHarness]:
    store = make_store()
    harness = ClientHarness(store, request.param, Jobs(plugins=[StoreLogs()]))
    await store.open()
    try:
        yield harness
    finally:
        harness.threads.close()
        await store.close()


async def logs_of(harness: ClientHarness, chain: Any) -> list[tuple[str, list[str]]]:
    """The outcome of each attempt, and its log without the time of each line."""
    report = await harness.client.report(chain.id)
    return [
        (each.outcome, [line.split(" ", 1)[-1] for line in (each.log or "").splitlines()]) for each in report.attempts
    ]


async def test_the_log_of_each_attempt_is_in_the_report(harness: ClientHarness) -> None:
    async def flaky(attempt: AttemptAdapter, number: int) -> int:
        log.info("attempt %d of %d ä", attempt.job.attempt, number)
        if attempt.job.attempt == 1:
            raise ConnectionError
        return number

    chain = await harness.client.start(harness.job(flaky).bind(7))
    log.info("before")
    await harness.drain(advance=True)
    log.info("after")

    assert await logs_of(harness, chain) == [
        ("failed", ["INFO shop: attempt 1 of 7 ä"]),
        ("completed", ["INFO shop: attempt 2 of 7 ä"]),
    ]


async def test_the_log_commits_with_the_completion(harness: ClientHarness) -> None:
    async def paid(attempt: AttemptAdapter, number: int) -> int:
        log.info("before")
        async with attempt.complete() as done:
            log.warning("inside")
            return done.output(number)  # type: ignore[no-any-return]

    chain = await harness.client.start(harness.job(paid).bind(7))
    await harness.drain()

    assert await logs_of(harness, chain) == [("completed", ["INFO shop: before", "WARNING shop: inside"])]


async def test_the_log_of_a_failed_job_contains_the_traceback_that_it_logged(harness: ClientHarness) -> None:
    async def refusing(attempt: AttemptAdapter, number: int) -> int:
        try:
            raise ValueError("low")
        except ValueError:
            log.exception("caught")
        async with attempt.complete() as done:
            done.output(number)
            raise Fail("refused")

    chain = await harness.client.start(harness.job(refusing).bind(7))
    await harness.drain()

    ((outcome, lines),) = await logs_of(harness, chain)
    assert outcome == "failed"
    assert lines[0] == "ERROR shop: caught"
    assert lines[-1].endswith("ValueError: low")


async def test_jobs_that_run_at_the_same_time_have_their_own_logs(harness: ClientHarness) -> None:
    async def counting(attempt: AttemptAdapter, number: int) -> int:
        for each in range(3):
            log.info("%d of %d", each, number)
            await attempt.progress(each / 3)
        return number

    counting_type = harness.job(counting)
    chains = await harness.client.start_many([counting_type.bind(number) for number in range(5)])
    await harness.drain(concurrency=5)

    for number, chain in enumerate(chains):
        expected = [f"INFO shop: {each} of {number}" for each in range(3)]
        assert await logs_of(harness, chain) == [("completed", expected)]


async def test_a_handler_that_logs_nothing_has_no_log(harness: ClientHarness) -> None:
    async def silent(attempt: AttemptAdapter, number: int) -> int:
        return number

    chain = await harness.client.start(harness.job(silent).bind(7))
    await harness.drain()

    (attempt,) = (await harness.client.report(chain.id)).attempts
    assert attempt.log is None
