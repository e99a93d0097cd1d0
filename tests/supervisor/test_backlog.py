"""What is due, and how often the backlog is read."""

from __future__ import annotations

import pytest

from holdfast import Client, Jobs
from holdfast.engine.observers import Observers
from holdfast.engine.wakeups import NoWakeups
from holdfast.stores.memory import MemoryStore
from holdfast.supervisor.backlog import Backlog
from holdfast.testing.clock import ManualClock
from tests.worker.faulty_store import FaultyStore

jobs = Jobs()


@jobs.job
async def one() -> None: ...


@jobs.job
async def other() -> None: ...


@pytest.fixture
def store() -> FaultyStore:
    return FaultyStore(MemoryStore(clock=ManualClock()))


@pytest.fixture
def backlog(store: FaultyStore) -> Backlog:
    return Backlog(store, ["one", "other"], observers=Observers())


def asked(store: FaultyStore) -> int:
    return sum(operation.verb in ("get_stats", "next_due") for operation in store.performed)


async def test_jobs_that_are_scheduled_or_paused_are_not_due(store: FaultyStore, backlog: Backlog) -> None:
    client = Client(store, jobs)
    await client.start_many([one.bind(), one.bind(), one.bind().options(delay=60), other.bind()])
    await client.pause("other")

    reading = await backlog.read()

    assert reading is not None
    assert reading.due(["one", "other"]) == 2
    assert reading.due(["other"]) == 0
    assert reading.oldest_due(["other"]) is None
    assert reading.oldest_due(["one"]) is not None


async def test_while_nothing_is_due_and_nothing_happens_the_store_is_not_asked(
    store: FaultyStore, backlog: Backlog
) -> None:
    await backlog.read()
    before = asked(store)

    for _ in range(100):
        await backlog.read()

    assert asked(store) == before


async def test_a_new_job_is_seen_at_once(store: FaultyStore, backlog: Backlog) -> None:
    await backlog.read()

    await Client(store, jobs).start(one.bind())

    reading = await backlog.read()
    assert reading is not None
    assert reading.due(["one"]) == 1


async def test_a_backlog_is_read_again_each_time(store: FaultyStore, backlog: Backlog) -> None:
    await Client(store, jobs).start(one.bind())
    await backlog.read()
    before = asked(store)

    await backlog.read()

    assert asked(store) == before + 1


async def test_without_wakeups_it_is_read_each_time() -> None:
    store = FaultyStore(MemoryStore(wakeups=NoWakeups()))
    backlog = Backlog(store, ["one"], observers=Observers())
    await backlog.read()

    await Client(store, jobs).start(one.bind())

    reading = await backlog.read()
    assert reading is not None
    assert reading.due(["one"]) == 1


async def test_a_job_that_comes_due_is_seen_when_it_does(store: FaultyStore, backlog: Backlog) -> None:
    await Client(store, jobs).start(one.bind(), delay=0.000001)
    await backlog.read()
    before = asked(store)

    await backlog.read()

    assert asked(store) > before


async def test_a_store_that_does_not_answer_makes_the_backlog_unknown_until_it_does(
    store: FaultyStore, backlog: Backlog
) -> None:
    await Client(store, jobs).start(one.bind())
    fault = store.fail("get_stats", times=None)

    assert await backlog.read() is None
    assert await backlog.read() is None
    fault.end()
    reading = await backlog.read()
    assert reading is not None
    assert reading.due(["one"]) == 1
