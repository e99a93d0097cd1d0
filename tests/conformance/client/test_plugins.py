"""Plugins of the registry: what they send along with a start, and which events and attempts they see."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import pytest

from holdfast import Bound, ChainNotFound, Event, Jobs, Plugin, Queue, StartingJob, SyncQueue
from holdfast.testing.conformance import StoreFactory
from tests.conformance.client.async_adapters import AttemptAdapter, Mode
from tests.conformance.client.harness import ClientHarness, in_time, value

running: ContextVar[str] = ContextVar("running", default="no handler")


class Tags(Plugin):
    """Sends along a number per start, and the type of the handler that starts."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.carriers: list[dict[str, str]] = []
        self.count = 0

    def observe(self, event: Event, /) -> None:
        self.events.append(event)

    async def around(self, attempt: Any, call_next: Callable[[], Awaitable[Any]], /) -> Any:
        self.carriers.append(attempt.job.carrier)
        token = running.set(attempt.job.type)
        try:
            return await call_next()
        finally:
            running.reset(token)

    def carrier(self) -> dict[str, str]:
        self.count += 1
        return {"number": str(self.count), "within": running.get()}

    def kinds(self, job_id: str) -> list[str]:
        return [event.kind for event in self.events if event.job_id == job_id]


@pytest.fixture
def tags() -> Tags:
    return Tags()


@pytest.fixture(params=Mode, ids=lambda mode: mode.value)
async def harness(
    request: pytest.FixtureRequest, make_store: StoreFactory, tags: Tags
) -> AsyncGenerator[ClientHarness]:
    store = make_store()
    harness = ClientHarness(store, request.param, Jobs(plugins=[tags]))
    await store.open()
    try:
        yield harness
    finally:
        harness.threads.close()
        await store.close()


async def test_a_carrier_is_stored_with_each_start(harness: ClientHarness, tags: Tags) -> None:
    echo = harness.jobs.job(value)

    first = await harness.client.start(echo.bind(1))
    many = await harness.client.start_many([echo.bind(2), echo.bind(3)])

    assert [(await harness.now(each)).carrier["number"] for each in (first, *many)] == ["1", "2", "3"]
    assert first.job.carrier == {"number": "1", "within": "no handler"}
    await harness.drain()
    assert sorted(each["number"] for each in tags.carriers) == ["1", "2", "3"]


async def test_a_deduplicated_start_keeps_the_carrier_of_the_first(harness: ClientHarness) -> None:
    echo = harness.jobs.job(value)

    await harness.client.start(echo.bind(1), key="k")
    again = await harness.client.start(echo.bind(2), key="k")

    assert again.deduplicated
    assert again.job.carrier["number"] == "1"


async def test_run_sends_a_carrier(harness: ClientHarness, tags: Tags) -> None:
    echo = harness.jobs.job(value)

    async with harness.worker():
        assert await in_time(harness.client.run(echo.bind(7))) == 7

    assert tags.carriers == [{"number": "1", "within": "no handler"}]


async def test_continuations_and_side_chains_are_sent_from_the_context_of_the_handler(harness: ClientHarness) -> None:
    echo = harness.jobs.job(value)
    aside: list[Any] = []

    async def by_return(attempt: AttemptAdapter, number: int) -> int | Bound[int]:
        return echo.bind(number)

    async def by_completion(attempt: AttemptAdapter, number: int) -> int | Bound[int]:
        async with attempt.complete() as done:
            aside.append(await done.start(echo.bind(9)))
            return done.continue_with(echo.bind(number))  # type: ignore[no-any-return]

    returned = await harness.client.start(harness.job(by_return).bind(1))
    completed = await harness.client.start(harness.job(by_completion).bind(2))
    await harness.drain()

    assert [(await harness.now(each)).type for each in (returned, completed)] == ["value", "value"]
    assert (await harness.now(returned)).carrier["within"] == "by_return"
    assert (await harness.now(completed)).carrier["within"] == "by_completion"
    assert (await harness.now(aside[0].id)).carrier["within"] == "by_completion"


async def test_a_completion_from_outside_sends_carriers(harness: ClientHarness) -> None:
    echo = harness.jobs.job(value)
    chain = await harness.client.start(echo.bind(1), delay=1000)

    async with harness.client.completing(chain) as current:
        await current.continue_with(echo.bind(2))
        aside = await current.start(echo.bind(3))

    assert (await harness.now(chain)).carrier["number"] == "2"
    assert (await harness.now(aside)).carrier["number"] == "3"


async def test_a_plugin_observes_clients_and_workers(harness: ClientHarness, tags: Tags) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))

    assert tags.kinds(chain.id) == ["created"]
    await harness.drain()
    assert [kind for kind in tags.kinds(chain.id) if kind != "renewed"] == [
        "created",
        "claimed",
        "started",
        "completed",
    ]


async def test_plugins_see_only_the_types_of_their_registry(harness: ClientHarness, tags: Tags) -> None:
    inner = Tags()
    included = Jobs(plugins=[inner])
    own = included.job(name="own")(value)
    other = harness.jobs.job(name="other")(value)
    harness.jobs.include(included)

    chains = await harness.client.start_many([own.bind(1), other.bind(2), own.bind(3)])
    await harness.drain()

    assert {event.type for event in inner.events} == {"own"}
    assert {event.type for event in tags.events} >= {"own", "other"}
    assert (len(inner.carriers), len(tags.carriers)) == (2, 3)
    # Of two plugins that send the same name, the inner one wins.
    assert [(await harness.now(each)).carrier["number"] for each in chains] == ["1", "2", "2"]


class Spans(Plugin):
    """Opens a block around each start, and gives each job its own entry."""

    def __init__(self) -> None:
        self.log: list[str] = []

    @contextmanager
    def starting(self, jobs: Sequence[StartingJob], /) -> Generator[None]:
        self.log.append(f"begin {', '.join(f'{job.type} {job.index}' for job in jobs)}")
        for number, job in enumerate(jobs):
            job.carrier["span"] = f"{job.inherited.get('span', '')}/{job.type}{number}"
        try:
            yield
        except BaseException as error:
            self.log.append(f"failed: {type(error).__name__}")
            raise
        self.log.append(f"end {[job.deduplicated for job in jobs]}")

    def carrier(self) -> dict[str, str]:
        self.log.append("carrier")
        return {"span": "replaced by starting", "also": "sent"}


async def test_a_block_encloses_each_creation_of_jobs(harness: ClientHarness) -> None:
    spans = Spans()
    included = Jobs(plugins=[spans])
    echo = included.job(value)

    @included.job
    async def more(number: int) -> int | Bound[int]:
        return echo.bind(number)

    harness.jobs.include(included)

    chains = await harness.client.start_many(
        [
            more.bind(1),
            echo.bind(
                2,
            ).options(key="k"),
        ]
    )
    await harness.client.start(echo.bind(3), key="k")

    assert spans.log == [
        "begin more 0, value 0", "carrier", "carrier", "end [False, False]",
        "begin value 0", "carrier", "end [True]",
    ]  # fmt: skip
    assert [chain.job.carrier["span"] for chain in chains] == ["/more0", "/value1"]
    assert chains[0].job.carrier["also"] == "sent"

    spans.log.clear()
    await harness.drain()
    assert spans.log == ["begin value 1", "carrier", "end [None]"]
    assert (await harness.now(chains[0])).carrier["span"] == "/more0/value0"


async def test_an_error_of_the_store_ends_the_block(harness: ClientHarness) -> None:
    spans = Spans()
    included = Jobs(plugins=[spans])
    echo = included.job(value)
    harness.jobs.include(included)

    with pytest.raises(ChainNotFound):
        await harness.client.start(echo.bind(1), after=["missing"])

    assert spans.log[0] == "begin value 0"
    assert spans.log[-1] == "failed: ChainNotFound"


async def test_a_carrier_of_other_values_is_refused_before_anything_is_written(harness: ClientHarness) -> None:
    class Wrong(Plugin):
        def carrier(self) -> dict[str, str]:
            return {"user": 7}  # type: ignore[dict-item]

    included = Jobs(plugins=[Wrong()])
    echo = included.job(value)
    harness.jobs.include(included)

    with pytest.raises(TypeError, match="'user' is a int"):
        await harness.client.start(echo.bind(1))

    assert not (await harness.client.list_chains()).items


async def test_a_queue_has_plugins(harness: ClientHarness) -> None:
    tags = Tags()

    async def handle(job: Any) -> str:
        return str(job.payload)

    if harness.mode is Mode.ASYNC:
        async with Queue[str, str]("letters", store=harness.store, plugins=[tags]) as queue:
            await queue.enqueue("a", "text")
    else:

        def produce() -> None:
            with SyncQueue[str, str]("letters", store=harness.store, plugins=[tags]) as queue:
                queue.enqueue("a", "text")

        await harness.threads.call(produce)
    assert tags.count == 1

    consumer = Queue[str, str]("letters", store=harness.store, plugins=[tags], poll_interval=0.1)
    consumer.execute(handle)
    async with consumer:
        assert await consumer.enqueue_and_wait("b", "more", timeout=60) == "more"
        assert await consumer.enqueue_and_wait("a", "text", timeout=60) == "text"
    assert sorted(each["number"] for each in tags.carriers) == ["1", "2"]
