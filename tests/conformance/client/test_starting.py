"""start, start_many and run: every option, and arguments that are refused before a write."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast import (
    ChainFailed,
    ChainNotFound,
    DependencyCycle,
    Fail,
    Jobs,
    PayloadRefused,
    Retry,
    Status,
    WrongArguments,
)
from tests.conformance.client.async_adapters import AttemptAdapter
from tests.conformance.client.harness import ClientHarness, value


async def test_a_started_chain_is_its_first_job(harness: ClientHarness) -> None:
    resize = harness.jobs.job(value)

    chain = await harness.client.start(resize.bind(7))
    job = await harness.client.get_job(chain.id)

    assert (chain.id, chain.type, chain.status, chain.deduplicated) == (job.id, "value", "pending", False)
    assert chain.job == chain.first_job == job
    assert (job.chain_id, job.index, job.input, job.output, job.error) == (chain.id, 0, {"number": 7}, None, None)
    assert (job.attempt, job.worker, job.leased_until, job.started_at, job.finished_at) == (0, None, None, None, None)
    assert job.created_at == job.scheduled_at == harness.time


async def test_delay_and_at_schedule_the_job(harness: ClientHarness) -> None:
    resize = harness.jobs.job(value)
    tomorrow = harness.time + timedelta(days=1)

    delayed = await harness.client.start(resize.bind(1), delay=60)
    by_timedelta = await harness.client.start(resize.bind(1), delay=timedelta(minutes=1))
    dated = await harness.client.start(resize.bind(1), at=tomorrow)
    past = await harness.client.start(resize.bind(1), at=datetime(2001, 1, 1, tzinfo=UTC))

    assert delayed.scheduled_at == by_timedelta.scheduled_at == harness.time + timedelta(minutes=1)
    assert dated.scheduled_at == tomorrow
    assert past.scheduled_at == harness.time
    assert [event.chain_id for event in await harness.drain()] == [past.id]


async def test_options_go_on_the_start_or_on_the_bind(harness: ClientHarness) -> None:
    resize = harness.jobs.job(value)
    options: dict[str, Any] = {"delay": 5, "priority": 3, "key": "img-1", "max_attempts": 2, "timeout": 30}

    on_start = await harness.client.start(resize.bind(1), **options)
    options["key"] = "img-2"
    on_bind = await harness.client.start(resize.bind(1).options(**options))

    for chain in (on_start, on_bind):
        job = chain.job
        assert (job.priority, job.max_attempts, job.record.timeout) == (3, 2, 30_000_000)
        assert job.scheduled_at == harness.time + timedelta(seconds=5)
    assert (on_start.key, on_bind.key) == ("img-1", "img-2")


async def test_the_options_of_a_start_override_those_of_the_type(harness: ClientHarness) -> None:
    resize = harness.jobs.job(priority=4, retry=Retry(max_attempts=9))(value)

    chain = await harness.client.start(resize.bind(1))
    other = await harness.client.start(resize.bind(1), priority=0, max_attempts=1)

    assert (chain.job.priority, chain.job.max_attempts) == (4, 9)
    assert (other.job.priority, other.job.max_attempts) == (0, 1)


async def test_ten_thousand_chains_in_one_call(harness: ClientHarness) -> None:
    resize = harness.jobs.job(value)

    chains = await harness.client.start_many([resize.bind(number) for number in range(10_000)])

    assert len({chain.id for chain in chains}) == 10_000
    assert [chain.job.input["number"] for chain in chains[::1000]] == list(range(0, 10_000, 1000))
    assert [chain.id for chain in chains] == sorted(chain.id for chain in chains)
    assert (await harness.client.stats()).counts[Status.PENDING] == 10_000


async def test_no_chains_at_all(harness: ClientHarness) -> None:
    assert await harness.client.start_many([]) == []


async def test_each_of_many_starts_may_have_options(harness: ClientHarness) -> None:
    resize = harness.jobs.job(value)

    chains = await harness.client.start_many([resize.bind(n).options(key=f"img-{n}", delay=n) for n in range(3)])

    assert [chain.key for chain in chains] == ["img-0", "img-1", "img-2"]
    assert [(chain.scheduled_at - harness.time).total_seconds() for chain in chains] == [0, 1, 2]


async def test_an_unknown_blocker_starts_nothing(harness: ClientHarness) -> None:
    resize = harness.jobs.job(value)

    with pytest.raises(ChainNotFound, match="nowhere") as raised:
        await harness.client.start_many([resize.bind(1), resize.bind(2).options(after=["nowhere"])])

    assert raised.value.chain_id == "nowhere"
    assert (await harness.client.list_chains()).items == []
    assert harness.reported == []


async def test_wrong_arguments_are_refused_before_anything_is_written(harness: ClientHarness) -> None:
    resize = harness.jobs.job(value)
    resize_any: Any = resize

    with pytest.raises(WrongArguments, match="number"):
        resize_any.bind("seven")
    with pytest.raises(PayloadRefused, match="number"):
        resize.bind(2**63)
    for options in ({"delay": -1}, {"delay": 1, "at": harness.time}, {"window": 1}, {"max_attempts": 0}, {"key": ""}):
        with pytest.raises(ValueError, match=next(iter(options))):
            await harness.client.start(resize.bind(1), **options)
    with pytest.raises(ValueError, match="time zone"):
        await harness.client.start(resize.bind(1), at=datetime(2027, 1, 1))  # noqa: DTZ001
    with pytest.raises(TypeError, match="after"):
        await harness.client.start(resize.bind(1), after="just-one")

    assert (await harness.client.list_chains()).items == []


async def test_run_starts_and_waits(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)

    async with harness.worker():
        assert await harness.client.run(double.bind(21), timeout=60) == 21


async def test_run_takes_start_options_from_the_bind(harness: ClientHarness) -> None:
    async def never(attempt: AttemptAdapter, number: int) -> None:
        raise Fail("on purpose")

    failing = harness.job(never)
    async with harness.worker():
        with pytest.raises(ChainFailed, match="on purpose"):
            await harness.client.run(failing.bind().options(priority=5, key="once"), timeout=60)

    (chain,) = (await harness.client.list_chains()).items
    assert (chain.key, chain.job.priority) == ("once", 5)


async def test_a_producer_needs_no_handler(harness: ClientHarness) -> None:
    contract = Jobs()

    @contract.declare
    async def publish(url: str) -> None: ...

    chain = await harness.client.start(publish.bind("/a"))

    assert chain.job.input == {"url": "/a"}
    assert await harness.drain(types=harness.jobs.job(value)) == []
    assert (await harness.now(chain)).status == "pending"


async def test_an_output_of_an_unknown_type_is_plain(harness: ClientHarness) -> None:
    elsewhere = Jobs()

    @elsewhere.job
    async def stamp() -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    chain = await harness.client.start(stamp.bind())
    async with harness.client.completing(chain) as current:
        await current.output({"plain": [1, None, "x"]})

    assert await harness.client.wait(chain, timeout=60) == {"plain": [1, None, "x"]}


async def test_the_trace_context_goes_along_the_chain(harness: ClientHarness) -> None:
    """The starting client sets it, and every job of the chain and its side chains has it."""
    seen: list[str | None] = []

    async def note(attempt: AttemptAdapter, number: int) -> Any:
        seen.append(attempt.job.trace)
        if number == 0:
            return None
        async with attempt.complete() as done:
            await done.start(noting.bind(0))
            return done.continue_with(noting.bind(0))

    noting = harness.job(note)
    client = type(harness.client.client)(harness.store, harness.jobs, trace=lambda: "00-abc-def-01")
    harness.client.client = client
    await harness.client.start(noting.bind(1))
    await harness.drain()

    assert seen == ["00-abc-def-01"] * 3


async def test_chains_that_would_wait_for_themselves_or_each_other_are_refused(harness: ClientHarness) -> None:
    resize = harness.jobs.job(value)
    one = resize.bind(1).options(id="one", after=["two"])
    two = resize.bind(2).options(id="two", after=["one"])

    with pytest.raises(DependencyCycle, match="chain 'own' waits for itself"):
        await harness.client.start(resize.bind(1), id="own", after=["own"])
    with pytest.raises(DependencyCycle, match="waits for"):
        await harness.client.start_many([one, two])

    assert (await harness.client.list_jobs()).items == []
