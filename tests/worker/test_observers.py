"""Observers: each event is emitted once, after its commit. An error of an observer has no effect."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from holdfast import Attempt, Bound, Cancel, Client, Event, Fail, Failure, Reschedule, Store, SyncAttempt, SyncClient
from holdfast.engine.observers import Observers
from holdfast.engine.operations import GetJobs
from tests.worker.harness import LEASE, Recorder, WorkerHarness, in_time


async def test_every_kind_is_emitted_once(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def end(how: str) -> Bound[str] | str:
        match how:
            case "continued":
                return end.bind("completed")
            case "retrying":
                raise ValueError
            case "rescheduled":
                raise Reschedule(delay=1)
            case "failed":
                raise Fail
            case "cancelled":
                raise Cancel
            case _:
                return how

    kinds = ["completed", "continued", "retrying", "rescheduled", "failed", "cancelled"]
    chains = {kind: await harness.start(end.bind(kind)) for kind in kinds}
    async with harness.worker():
        for chain in chains.values():
            await harness.ended(chain)
        await harness.recorder.receive("completed", times=2)

    for kind, chain in chains.items():
        assert harness.recorder.kinds(chain.id) == ["created", "claimed", "started", kind]
    assert Counter(event.kind for event in harness.recorder.events) == Counter(
        {"created": 6, "claimed": 7, "started": 7, "completed": 2, "worker_started": 1, "worker_stopping": 1}
        | {"worker_stopped": 1, "woken": len(harness.recorder.find("woken"))}
        | dict.fromkeys(kinds[1:], 1)
    )


async def test_an_event_has_the_fields_of_its_job(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def fail() -> None:
        raise Fail("on purpose")

    client = Client(harness.store, harness.jobs, observers=[harness.recorder], trace=lambda: "00-trace")
    chain = await client.start(fail.bind(), delay=5)
    harness.clock.advance(8)
    async with harness.worker(worker_id="me"):
        failed = await harness.ended(chain)

    assert (failed.job_id, failed.chain_id, failed.type) == (chain.id, chain.id, "fail")
    assert (failed.attempt, failed.worker, failed.trace) == (1, "me", "00-trace")
    assert str(failed.error) == "Fail: on purpose"
    assert failed.duration is not None
    assert 0 <= failed.duration < 10
    assert harness.recorder.find("claimed")[0].waited == 3


async def test_the_chain_of_a_failure_hook_has_an_event(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def refund(failure: Failure) -> None: ...

    @harness.jobs.job(on_failure=refund)
    async def fail() -> None:
        raise Fail("on purpose")

    chain = await harness.start(fail.bind())
    async with harness.worker():
        await harness.ended(chain)
        await harness.recorder.receive("completed")

    (hook,) = [str(event.chain_id) for event in harness.recorder.find("created") if event.type == "refund"]
    assert harness.recorder.kinds(hook) == ["created", "claimed", "started", "completed"]


async def test_events_are_emitted_after_the_commit(harness: WorkerHarness) -> None:
    seen: list[tuple[str, str]] = []

    def look(event: Event) -> None:
        if event.job_id is not None:
            (record,) = harness.store.perform_sync(GetJobs((event.job_id,)))
            seen.append((event.kind, "nothing" if record is None else str(record.status)))

    @harness.jobs.job
    async def side() -> None: ...

    @harness.jobs.job
    async def work(attempt: Attempt) -> str:
        async with attempt.complete() as done:
            await done.start(side.bind(), delay=1000)
            return done.output("done")

    client = Client(harness.store, harness.jobs, observers=[look, harness.recorder])
    harness.client = client
    chain = await client.start(work.bind())
    async with harness.worker():
        await harness.ended(chain)
        await harness.recorder.receive("created", type="side")
    await client.cancel((await client.list_chains(type="side")).items[0])

    assert seen == [
        ("created", "pending"),
        ("claimed", "running"),
        ("started", "running"),
        ("completed", "completed"),
        ("created", "pending"),
        ("cancelled", "cancelled"),
    ]


async def test_a_rolled_back_attempt_emits_no_events_of_its_writes(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def side() -> None: ...

    @harness.jobs.job
    async def work(attempt: Attempt) -> str:
        async with attempt.complete() as done:
            await done.start(side.bind(), delay=1000)
            done.output("done")
        raise ValueError

    chain = await harness.start(work.bind())
    async with harness.worker():
        await harness.ended(chain)

    assert not harness.recorder.find("created", type="side")
    assert not harness.recorder.find("completed")


async def test_unblocking_is_emitted(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def first() -> None: ...

    @harness.jobs.job
    async def second() -> None: ...

    blocker = await harness.start(first.bind())
    blocked = await harness.start(second.bind(), after=[blocker])
    async with harness.worker():
        await harness.ended(blocked)

    assert harness.recorder.kinds(blocked.id) == ["created", "unblocked", "claimed", "started", "completed"]


@pytest.mark.parametrize(
    "error",
    [ValueError("an observer's"), asyncio.CancelledError(), SystemExit(1), KeyboardInterrupt(), GeneratorExit()],
    ids=lambda error: type(error).__name__,
)
async def test_an_observer_that_raises_has_no_effect_on_jobs(
    harness: WorkerHarness, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(event: Event) -> None:
        raise error

    @harness.jobs.job
    async def hello() -> str:
        return "hello"

    @harness.jobs.job
    def hello_plain(attempt: SyncAttempt) -> str:
        attempt.progress(0.5)
        return "hello"

    harness.client = Client(harness.store, harness.jobs, observers=[broken, harness.recorder])
    chains = [await harness.start(job_type.bind()) for job_type in (hello, hello_plain)]
    async with harness.worker():
        for chain in chains:
            await harness.ended(chain)

    assert [(await harness.job(chain)).output for chain in chains] == ["hello", "hello"]
    assert "an observer raised" in caplog.text


async def test_an_observer_is_a_callable_or_has_a_method(harness: WorkerHarness) -> None:
    class Metrics:
        def __init__(self) -> None:
            self.kinds: list[str] = []

        def observe(self, event: Event, /) -> None:
            self.kinds.append(event.kind)

    metrics, recorder = Metrics(), Recorder()
    observers = Observers([metrics, recorder])

    observers.emit("woken", worker="me")

    assert metrics.kinds == ["woken"]
    assert [event.worker for event in recorder.events] == ["me"]


async def test_the_observers_of_a_worker_receive_only_its_events(harness: WorkerHarness) -> None:
    mine, others = Recorder(), Recorder()

    @harness.jobs.job
    async def hello() -> None: ...

    chain = await harness.start(hello.bind())
    async with harness.worker(worker_id="one", observers=[mine]):
        await harness.ended(chain)
    async with harness.worker(worker_id="two", observers=[others]):
        await harness.ended(await harness.start(hello.bind()))

    assert {event.worker for event in mine.events if event.worker} == {"one"}
    assert {event.worker for event in others.events if event.worker} == {"two"}


async def test_reaping_is_emitted_with_the_worker_that_lost_the_job(harness: WorkerHarness) -> None:
    over = asyncio.Event()

    @harness.jobs.job
    async def long(attempt: Attempt) -> int:
        if attempt.job.attempt == 1:
            await over.wait()
        return attempt.job.attempt

    chain = await harness.start(long.bind())
    async with harness.worker(worker_id="loser", lease=1000):
        await harness.recorder.receive("started", job_id=chain.id)
        harness.clock.advance(1001)
        async with harness.worker(worker_id="finder", lease=LEASE):
            reaped = await harness.recorder.receive("reaped", job_id=chain.id)
            await harness.recorder.receive("completed", job_id=chain.id)
        over.set()

    assert (reaped.worker, reaped.detail, reaped.attempt) == ("finder", "from worker loser", 1)


async def test_a_client_emits_its_own_changes_once(store: Store) -> None:
    recorder = Recorder()
    harness = WorkerHarness(store, store.clock)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client = Client(store, harness.jobs, observers=[recorder])

    @harness.jobs.job
    async def hello() -> None: ...

    chain = await client.start(hello.bind(), key="one", delay=10)
    again = await client.start(hello.bind(), key="one", delay=10)
    await client.run_now(chain)
    await client.cancel(chain)
    await client.cancel(chain)
    await client.retry(chain)
    async with client.completing(chain) as current:
        await current.continue_with(hello.bind())
        await current.output(None)
    await client.cancel(chain)
    await client.delete([chain])
    await client.delete([chain])

    assert again.deduplicated
    assert [event.kind for event in recorder.events] == [
        "created", "made_due", "cancelled", "retried", "continued", "completed", "deleted",
    ]  # fmt: skip
    assert {event.chain_id for event in recorder.events} == {chain.id}


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_a_side_chain_started_from_outside_keeps_the_trace(harness: WorkerHarness, sync: bool) -> None:
    @harness.jobs.job
    async def hello() -> None: ...

    chain = await Client(harness.store, harness.jobs, trace=lambda: "00-trace").start(hello.bind())
    if sync:
        with SyncClient(harness.store, harness.jobs).completing(chain) as blocking:
            side = blocking.start(hello.bind())
            blocking.output(None)
    else:
        async with harness.client.completing(chain) as current:
            side = await current.start(hello.bind())
            await current.output(None)

    assert (await harness.job(side)).record.trace == "00-trace"


async def test_a_completing_body_that_fails_emits_nothing(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def hello() -> None: ...

    async def body() -> None:
        async with harness.client.completing(chain) as current:
            await current.start(hello.bind())
            await current.output(None)
            raise ZeroDivisionError

    chain = await harness.start(hello.bind())
    with pytest.raises(ZeroDivisionError):
        await in_time(body())

    assert [event.kind for event in harness.recorder.events] == ["created"]
