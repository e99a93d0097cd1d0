"""drain: run due jobs in a test, and move the clock to the next due time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import Attempt, Bound, Client, Jobs, Retry, Status, SyncClient
from holdfast.engine.operations import ClaimJobs, Operation, TypeTerms
from holdfast.engine.wakeups import NoWakeups
from holdfast.stores.memory import MemoryStore
from holdfast.testing import ManualClock, drain, drain_sync

jobs = Jobs()


@jobs.job
async def count_down(number: int) -> Bound[str] | str:
    return count_down.bind(number - 1) if number else "lift-off"


@jobs.job(retry=Retry(initial=100, max_attempts=3))
async def fail() -> None:
    raise ValueError("no")


@jobs.job
def plain(number: int) -> int:
    return number


@jobs.job
async def endless() -> Bound[None]:
    return endless.bind()


@pytest.fixture(params=[True, False], ids=["woken", "polling"])
def client(request: pytest.FixtureRequest) -> Client:
    return Client(MemoryStore(clock=ManualClock(), wakeups=None if request.param else NoWakeups()), jobs)


async def test_due_jobs_and_the_jobs_that_they_start_are_run(client: Client) -> None:
    chain = await client.start(count_down.bind(3))
    later = await client.start(plain.bind(1), delay=60)

    ran = await drain(client)

    assert [event.kind for event in ran] == ["continued"] * 3 + ["completed"]
    assert {event.chain_id for event in ran} == {chain.id}
    assert await client.wait(chain, timeout=0) == "lift-off"
    assert [job.status for job in (await client.list_jobs(chain=later)).items] == ["pending"]


async def test_nothing_runs_without_due_jobs(client: Client) -> None:
    assert await drain(client) == []
    assert await drain(client, advance=True) == []


async def test_jobs_run_one_after_the_other(client: Client) -> None:
    chains = await client.start_many([plain.bind(number) for number in range(20)])

    ran = await drain(client)

    assert [event.chain_id for event in ran] == [chain.id for chain in chains]


async def test_the_clock_is_moved_to_the_next_due_time(client: Client) -> None:
    clock = client.store.clock
    assert isinstance(clock, ManualClock)
    begun = clock()
    chain = await client.start(fail.bind(), delay=1000)
    also = await client.start(plain.bind(5), delay=86_400)

    ran = await drain(client, advance=True)

    assert [event.kind for event in ran] == ["retrying", "retrying", "failed", "completed"]
    assert clock() == begun + 86_400_000_000
    assert await client.wait(also, timeout=0) == 5
    assert [event.attempt for event in ran if event.chain_id == chain.id] == [1, 2, 3]


async def test_the_lease_of_a_lost_worker_is_waited_for_too(client: Client) -> None:
    chain = await client.start(plain.bind(1))
    await client.store.perform(ClaimJobs((TypeTerms("plain", 30_000_000, 25),), 1, "lost", "token"))

    assert await drain(client) == []
    ran = await drain(client, advance=True)

    assert [(event.kind, event.attempt) for event in ran] == [("completed", 2)]
    assert await client.wait(chain, timeout=0) == 1


async def test_the_clock_is_not_moved_while_a_handler_leaves_a_wait_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock()
    store = MemoryStore(clock=clock)
    waiting, read, left, end = (asyncio.Event() for _ in range(4))
    own = Jobs()

    @own.job
    async def wait_in_place() -> None:
        with clock.waiting(clock(), lambda: None):
            waiting.set()
            await read.wait()
        left.set()
        await end.wait()

    perform = store.perform

    async def leave_the_wait_during_a_read(operation: Operation[Any], /) -> Any:
        answer = await perform(operation)
        if left.is_set():
            end.set()
        elif operation.verb == "next_due" and waiting.is_set():
            read.set()
            await left.wait()
        return answer

    monkeypatch.setattr(store, "perform", leave_the_wait_during_a_read)
    begun = clock()
    client = Client(store, own)
    await client.start(wait_in_place.bind())

    await drain(client, advance=True)

    assert end.is_set()
    assert clock() == begun


async def test_jobs_of_paused_and_other_types_do_not_run(client: Client) -> None:
    await client.start(plain.bind(1))
    await client.start(count_down.bind(0))
    await client.pause(plain)

    assert [event.type for event in await drain(client, types=[plain, fail])] == []
    assert [event.type for event in await drain(client, advance=True)] == ["count_down"]


async def test_an_endless_loop_of_jobs_is_an_error(client: Client) -> None:
    await client.start(endless.bind())

    with pytest.raises(RuntimeError, match="50 attempts"):
        await drain(client, limit=50)


async def test_a_handler_that_hangs_is_an_error() -> None:
    mine = Jobs()

    @mine.job
    async def hang() -> None:
        await asyncio.get_running_loop().create_future()

    client = Client(MemoryStore(), mine)
    await client.start(hang.bind())
    with pytest.raises(TimeoutError):
        await drain(client, timeout=0.1)

    assert (await client.stats()).counts[Status.PENDING] == 1


async def test_concurrency_retry_and_middlewares_are_passed_to_the_worker() -> None:
    mine = Jobs()
    both = asyncio.Barrier(2)

    @mine.job
    async def meet(attempt: Attempt) -> int:
        async with asyncio.timeout(60):
            await both.wait()
        if attempt.job.attempt == 1:
            raise ValueError
        return attempt.job.attempt

    async def add(attempt: Any, call_next: Any) -> Any:
        return 10 + await call_next()

    client = Client(MemoryStore(), mine)
    chains = await client.start_many([meet.bind() for _ in range(2)])

    await drain(client, concurrency=2, retry=Retry(initial=0, jitter=0), middlewares=[add])

    assert [await client.wait(chain, timeout=0) for chain in chains] == [12, 12]


async def test_advance_needs_a_manual_clock() -> None:
    with pytest.raises(ValueError, match="ManualClock"):
        await drain(Client(MemoryStore(), jobs), advance=True)


def test_a_blocking_test_drains_too() -> None:
    client = SyncClient(MemoryStore(clock=ManualClock()), jobs)
    chain = client.start(count_down.bind(2), delay=10)

    assert drain_sync(client) == []
    assert len(drain_sync(client, advance=True)) == 3
    assert client.wait(chain, timeout=0) == "lift-off"


async def test_drain_sync_in_a_running_event_loop_is_an_error() -> None:
    with pytest.raises(TypeError, match="await drain"):
        drain_sync(SyncClient(MemoryStore(), jobs))
