"""The collector and the plugin, read back with the parser of `prometheus_client`."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from holdfast import Client, Fail, Jobs, Limit, Reschedule, Retry, SyncClient, Worker
from holdfast.contrib.prometheus import Collector, Prometheus
from holdfast.core.record import Status
from holdfast.engine.store import Store
from holdfast.errors import StoreUnavailable
from holdfast.stores.memory import MemoryStore
from holdfast.testing import ManualClock, drain, drain_sync
from tests.conformance.conftest import STORES
from tests.contrib.exposition import Samples, samples_of, value

NAMES = {
    "holdfast_started", "holdfast_completed", "holdfast_failed", "holdfast_retried", "holdfast_reaped",
    "holdfast_cancelled", "holdfast_wait_seconds", "holdfast_run_seconds", "holdfast_due",
    "holdfast_oldest_due_seconds", "holdfast_running", "holdfast_workers",
}  # fmt: skip


def scrape(registry: CollectorRegistry) -> Samples:
    return samples_of(generate_latest(registry).decode())


def registered(client: SyncClient) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(Collector(client))
    return registry


async def drain_until_failed(client: SyncClient, number: int) -> None:
    """Run the due jobs, and the retries, which may be due a moment later."""
    same = Client(client.store, client.jobs)
    for _ in range(1000):
        await drain(same)
        if (await same.stats()).types["charge"].counts.get(Status.FAILED, 0) == number:
            return
    raise AssertionError("a retry does not become due")


@pytest.fixture(params=[name for name in STORES if name != "valkey"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store]:
    store = STORES[request.param](tmp_path)()
    await store.open()
    yield store
    await store.close()


@pytest.fixture
def jobs() -> Jobs:
    return Jobs()


@pytest.fixture
def client(store: Store, jobs: Jobs) -> Iterator[SyncClient]:
    with SyncClient(store, jobs, migrate=True) as client:
        yield client


async def test_the_collector_shows_the_numbers_of_the_store(client: SyncClient, jobs: Jobs) -> None:
    @jobs.job(retry=Retry(initial=0, jitter=0, max_attempts=2))
    def charge(order: int) -> None:
        if order == 1:
            raise RuntimeError("no answer")

    @jobs.job
    def idle() -> None: ...

    for order in (0, 0, 1):
        client.start(charge.bind(order))
    client.cancel(client.start(charge.bind(0), delay=3600))
    await drain_until_failed(client, 1)
    client.start_many([idle.bind(), idle.bind()])

    samples = scrape(registered(client))

    counted = {
        kind: value(samples, f"holdfast_{kind}_total", type="charge")
        for kind in ("started", "completed", "failed", "retried", "reaped", "cancelled", "rescheduled")
    }
    assert counted == {
        "started": 4, "completed": 2, "failed": 1, "retried": 1, "reaped": 0, "cancelled": 1, "rescheduled": 0,
    }  # fmt: skip
    total = client.counters().types["charge"].total
    for name, histogram in (("wait", total.waits), ("run", total.runs)):
        assert value(samples, f"holdfast_{name}_seconds_count", type="charge") == histogram.count == 4
        assert value(samples, f"holdfast_{name}_seconds_sum", type="charge") == histogram.total / 1_000_000
        assert value(samples, f"holdfast_{name}_seconds_bucket", type="charge", le="+Inf") == 4
        below = sum(histogram.counts[:3])
        assert value(samples, f"holdfast_{name}_seconds_bucket", type="charge", le="0.025") == below
    assert value(samples, "holdfast_due", type="idle") == 2
    assert value(samples, "holdfast_oldest_due_seconds", type="idle") >= 0
    assert value(samples, "holdfast_running", type="idle") == 0
    assert value(samples, "holdfast_due", type="charge") == 0
    assert value(samples, "holdfast_oldest_due_seconds", type="charge") == 0
    assert value(samples, "holdfast_workers", type="idle") == 0
    assert value(samples, "holdfast_up") == 1


async def test_the_collector_shows_running_jobs_and_live_workers(client: SyncClient, jobs: Jobs) -> None:
    begun, gate = asyncio.Event(), asyncio.Event()

    @jobs.job
    async def hold() -> None:
        begun.set()
        await gate.wait()

    same = Client(client.store, jobs)
    async with asyncio.timeout(60), Worker(same):
        await same.start(hold.bind())
        await begun.wait()
        while not await same.workers():  # noqa: ASYNC110  (the row is written while the worker begins)
            await asyncio.sleep(0.01)
        samples = await asyncio.to_thread(scrape, registered(client))
        gate.set()

    assert value(samples, "holdfast_running", type="hold") == 1
    assert value(samples, "holdfast_workers", type="hold") == 1
    assert value(samples, "holdfast_due", type="hold") == 0


async def test_limits_are_shown_without_the_keys_of_their_lanes(client: SyncClient, jobs: Jobs) -> None:
    begun, gate = asyncio.Event(), asyncio.Event()

    @jobs.job(limits=[Limit("per-customer", 1, by="customer")])
    async def bill(customer: str) -> None:
        begun.set()
        await gate.wait()

    same = Client(client.store, jobs)
    async with asyncio.timeout(60), Worker(same, concurrency=1):
        await same.start_many([bill.bind("ada"), bill.bind("ada"), bill.bind("eve")])
        await begun.wait()
        samples = await asyncio.to_thread(scrape, registered(client))
        gate.set()

    assert value(samples, "holdfast_limit", limit="per-customer") == 1
    assert value(samples, "holdfast_limit_running", limit="per-customer") == 1
    assert value(samples, "holdfast_limit_waiting", limit="per-customer") == 2
    assert "ada" not in {text for _, labels in samples for _, text in labels}


def test_a_paused_type_has_no_due_jobs_and_the_age_is_that_of_the_store(jobs: Jobs) -> None:
    @jobs.job
    def ship() -> None: ...

    clock = ManualClock()
    with SyncClient(MemoryStore(clock=clock), jobs) as client:
        client.start(ship.bind())
        clock.advance(90)
        registry = registered(client)
        assert value(scrape(registry), "holdfast_oldest_due_seconds", type="ship") == 90

        client.pause(ship)
        samples = scrape(registry)

    assert value(samples, "holdfast_due", type="ship") == 0
    assert value(samples, "holdfast_oldest_due_seconds", type="ship") == 0


async def test_no_label_contains_an_id(client: SyncClient, jobs: Jobs) -> None:
    @jobs.job
    def ship() -> None: ...

    client.start(ship.bind(), id="order-7", key="customer-9")

    labels = {label for _, labels in scrape(registered(client)) for label in labels}

    assert {name for name, _ in labels} == {"type", "le"}
    assert {text for name, text in labels if name == "type"} == {"ship"}


def test_registering_the_collector_reads_nothing_and_names_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    client = SyncClient(MemoryStore())

    def refuse(operation: Any) -> Any:
        raise AssertionError("the store is read")

    monkeypatch.setattr(client.store, "perform_sync", refuse)
    registry = registered(client)

    assert {family.name for family in Collector(client).describe()} >= NAMES
    with pytest.raises(ValueError, match="Duplicated"):
        registry.register(Collector(client))


def test_a_store_that_does_not_answer_is_down_and_has_no_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    client = SyncClient(MemoryStore())

    def fail(operation: Any) -> Any:
        raise StoreUnavailable("memory:", "no connection")

    monkeypatch.setattr(client.store, "perform_sync", fail)

    assert scrape(registered(client)) == {("holdfast_up", frozenset()): 0}


def test_the_collector_refuses_an_async_client() -> None:
    with pytest.raises(TypeError, match="SyncClient"):
        Collector(Client(MemoryStore()))  # type: ignore[arg-type]


async def test_the_plugin_counts_the_attempts_of_a_process(store: Store) -> None:
    registry = CollectorRegistry()
    jobs = Jobs(plugins=[Prometheus(registry)])

    @jobs.job(retry=Retry(initial=0, jitter=0, max_attempts=2))
    def charge(order: int) -> None:
        match order:
            case 1:
                raise RuntimeError("no answer")
            case 2:
                raise Fail("refused")
            case 3:
                raise Reschedule(3600)
            case _:
                pass

    with SyncClient(store, jobs, migrate=True) as client:
        client.start_many([charge.bind(order) for order in (0, 1, 2, 3)])
        client.cancel(client.start(charge.bind(0), delay=60))
        await drain_until_failed(client, 2)

    samples = scrape(registry)
    outcomes = {
        dict(labels)["outcome"]: number for (name, labels), number in samples.items()
        if name == "holdfast_worker_attempts_total" and dict(labels)["type"] == "charge"
    }  # fmt: skip
    outcomes.pop("released", None)  # by a drain that ended just when the retry became due
    assert outcomes == {"completed": 1, "retried": 1, "failed": 2, "rescheduled": 1}
    assert value(samples, "holdfast_worker_run_seconds_count", type="charge") == 5
    assert value(samples, "holdfast_worker_wait_seconds_count", type="charge") == 5


def test_two_plugins_of_one_registry_count_an_attempt_once() -> None:
    registry = CollectorRegistry()
    inner, jobs = Jobs(plugins=[Prometheus(registry)]), Jobs(plugins=[Prometheus(registry)])

    @inner.job
    def ship() -> None: ...

    jobs.include(inner)
    with SyncClient(MemoryStore(), jobs) as client:
        client.start(ship.bind())
        drain_sync(client)

    samples = scrape(registry)
    assert value(samples, "holdfast_worker_attempts_total", type="ship", outcome="completed") == 1


def test_a_missing_library_is_named() -> None:
    program = (
        "import sys\n"
        "sys.modules['prometheus_client'] = None\n"
        "try:\n"
        "    import holdfast.contrib.prometheus\n"
        "except ImportError as error:\n"
        '    assert "with its extra [prometheus]" in str(error), error\n'
        "else:\n"
        "    raise AssertionError\n"
    )

    subprocess.run([sys.executable, "-c", program], check=True)
