"""Inputs from a newer producer: an older worker returns the job, a newer one runs it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal

import pytest

from holdfast import Bound, Client, Event, Jobs, Retry, Status
from holdfast.testing import drain
from tests.conformance.client.harness import ClientHarness

STEADY = Retry(initial=10, multiplier=2, maximum=300, jitter=0, max_attempts=2)


class Release:
    """A program of one version: its registry, and a client on the harness's store."""

    def __init__(self, harness: ClientHarness) -> None:
        self.jobs = Jobs()
        self.reported: list[Event] = []
        self.client = Client(harness.store, self.jobs, observers=[self.reported.append])

    async def work(self, **options: Any) -> list[str]:
        """Run the due jobs and return the events."""
        return [event.kind for event in await drain(self.client, **options)]


@pytest.fixture
def old(harness: ClientHarness) -> Release:
    release = Release(harness)

    @release.jobs.job(retry=STEADY)
    async def resize(image: int, mode: Literal["fit"] = "fit") -> str:
        return f"old {image} {mode}"

    return release


@pytest.fixture
def new(harness: ClientHarness) -> Release:
    release = Release(harness)

    @release.jobs.job(retry=STEADY)
    async def resize(image: int, mode: Literal["fit", "crop"] = "fit", quality: int = 80) -> str:
        return f"new {image} {mode} {quality}"

    return release


@pytest.mark.parametrize("change", [{"quality": 50}, {"mode": "crop"}], ids=["parameter", "literal"])
async def test_an_older_worker_leaves_a_newer_input_to_a_newer_worker(
    harness: ClientHarness, old: Release, new: Release, change: dict[str, Any]
) -> None:
    chain = await new.client.start(new.jobs["resize"].bind(1, **change))

    for delay in (10, 20, 40, 80):
        assert await old.work() == ["mismatched"]
        job = await harness.now(chain.id)
        assert (job.status, job.attempt) == (Status.PENDING, 0)
        assert job.scheduled_at == harness.time + timedelta(seconds=delay)
        assert await old.work() == []  # not due: a single worker does not retry in a tight loop
        harness.clock.advance(delay)

    assert await new.work() == ["completed"]
    report = await new.client.report(chain.id)
    assert report is not None
    assert [(each.number, each.outcome) for each in report.attempts] == [(1, "mismatched")] * 4 + [(1, "completed")]
    assert "PayloadRefused: resize" in str(report.attempts[0].error)
    assert (await new.client.wait(chain)).startswith("new 1")


async def test_an_observer_receives_the_mismatch_and_its_reason(old: Release, new: Release) -> None:
    chain = await new.client.start(new.jobs["resize"].bind(1, quality=50))

    await old.work()

    [event] = [event for event in old.reported if event.kind == "mismatched"]
    assert (event.job_id, event.detail) == (chain.id, "again in 10.0 s")
    assert "quality" in str(event.error)


async def test_the_job_fails_when_no_worker_accepts_it_within_the_timeout(
    harness: ClientHarness, old: Release, new: Release
) -> None:
    chain = await new.client.start(new.jobs["resize"].bind(1, quality=50))
    begun = harness.time

    assert set(await old.work(advance=True)) == {"mismatched", "failed"}

    job = await harness.now(chain.id)
    assert (job.status, job.attempt) == (Status.FAILED, 0)
    assert job.error is not None
    assert job.error.type == "PayloadRefused"
    assert (harness.time - begun).total_seconds() == pytest.approx(3600, abs=1)


async def test_retry_restarts_the_mismatch_timeout(harness: ClientHarness, old: Release, new: Release) -> None:
    chain = await new.client.start(new.jobs["resize"].bind(1, quality=50))
    await old.work(advance=True)

    await new.client.retry(chain.id)

    assert await old.work() == ["mismatched"]
    assert (await harness.now(chain.id)).status is Status.PENDING


async def test_an_attempt_without_a_mismatch_restarts_the_mismatch_timeout(
    harness: ClientHarness, old: Release, new: Release
) -> None:
    failing = Release(harness)

    @failing.jobs.job(retry=STEADY)
    async def resize(image: int, mode: str = "fit", quality: int = 80) -> str:
        raise RuntimeError("disk full")

    chain = await new.client.start(new.jobs["resize"].bind(1, quality=50))
    await old.work()
    harness.clock.advance(3600)
    assert await failing.work() == ["retrying"]
    harness.clock.advance(3600)

    assert await old.work() == ["mismatched"]

    job = await harness.now(chain.id)
    assert (job.status, job.attempt) == (Status.PENDING, 1)


async def test_a_continuation_from_a_newer_worker_is_left_to_it(
    harness: ClientHarness, old: Release, new: Release
) -> None:
    @new.jobs.job
    async def fetch(image: int) -> str | Bound[str]:
        return new.jobs["resize"].bind(image, quality=30)

    chain = await new.client.start(fetch.bind(1))
    await new.work(types=[fetch])

    assert await old.work() == ["mismatched"]
    harness.clock.advance(10)
    assert await new.work() == ["completed"]
    assert await new.client.wait(chain) == "new 1 fit 30"


async def test_a_blocker_s_output_that_does_not_decode_is_a_mismatch(
    harness: ClientHarness, old: Release, new: Release
) -> None:
    @old.jobs.declare
    async def measure() -> Literal["small"]:
        raise NotImplementedError

    @new.jobs.job(name="measure")
    async def measure_newer() -> Literal["small", "huge"]:
        return "huge"

    measured = await new.client.start(measure_newer.bind())
    chain = await new.client.start(new.jobs["resize"].bind(1), after=[measured])
    await new.work(types=[measure_newer])

    assert await old.work(types=["resize"]) == ["mismatched"]
    harness.clock.advance(10)
    assert await new.work() == ["completed"]
    assert (await harness.now(chain.id)).attempt == 1


async def test_a_type_that_is_only_declared_here_is_not_claimed(old: Release, new: Release) -> None:
    @old.jobs.declare
    async def publish(image: int) -> str:
        raise NotImplementedError

    @new.jobs.job(name="publish")
    async def publish_newer(image: int, url: str = "") -> str:
        return url

    await new.client.start(publish_newer.bind(1, url="x"))

    assert await old.work() == []
    assert await new.work() == ["completed"]


async def test_an_output_that_does_not_match_is_an_ordinary_failure(harness: ClientHarness, old: Release) -> None:
    @old.jobs.job(retry=STEADY)
    async def count() -> int:
        return "many"  # type: ignore[return-value]  # pyright: ignore[reportReturnType]

    chain = await old.client.start(count.bind())

    assert await old.work(advance=True) == ["retrying", "failed"]
    assert (await harness.now(chain.id)).attempt == 2


async def test_a_refusal_inside_the_handler_is_an_ordinary_failure(harness: ClientHarness, old: Release) -> None:
    @old.jobs.job(retry=STEADY)
    async def binds_badly() -> None:
        old.jobs["resize"].bind("no number")

    await old.client.start(binds_badly.bind())

    assert await old.work(advance=True) == ["retrying", "failed"]
