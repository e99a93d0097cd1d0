"""`/metrics` of `holdfast worker --health` and of `holdfast supervise`: the store, the process, and no name twice."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry

from holdfast import Client, Event, Jobs, SyncClient, Worker
from holdfast.cli.exporters import exporter
from holdfast.contrib.prometheus import Prometheus
from holdfast.engine.operations import GetCounters
from holdfast.errors import StoreUnavailable
from holdfast.stores.memory import MemoryStore
from holdfast.supervisor.worker_health import WorkerHealth
from tests.contrib.exposition import samples_of, value
from tests.edges.cli.shop import add
from tests.edges.cli.test_worker_command import process
from tests.edges.cli.test_worker_health import receive
from tests.servers.ports import free_port
from tests.supervisor.harness import Harness, ready
from tests.supervisor.work import note
from tests.waiting import TIMEOUT

ATTEMPTED = 'holdfast_worker_attempts_total{outcome="completed",type="note"} 1.0'


async def ship() -> None: ...


@asynccontextmanager
async def served(jobs: Jobs) -> AsyncGenerator[tuple[Client, httpx.AsyncClient, asyncio.Event]]:
    """A worker with its endpoint, as the command builds them. The last value is set after the end of an attempt."""
    ended = asyncio.Event()

    def watch(event: Event) -> None:
        if event.kind == "completed":
            ended.set()

    exported = exporter()
    assert exported is not None
    async with (
        Client(MemoryStore(), jobs) as client,
        Worker(client, observers=[exported.attempts, watch]) as worker,
        WorkerHealth(worker, client, ("127.0.0.1", 0), exporter=exported) as health,
    ):
        host, port = health.endpoint.address
        async with httpx.AsyncClient(base_url=f"http://{host}:{port}", timeout=TIMEOUT) as http:
            yield client, http, ended


@pytest.mark.parametrize("plugins", [[], [Prometheus(CollectorRegistry())]], ids=["without plugin", "with plugin"])
async def test_a_worker_serves_the_store_and_the_process(plugins: list[Prometheus]) -> None:
    jobs = Jobs(plugins=plugins)
    job = jobs.job(ship)
    async with served(jobs) as (client, http, ended):
        await client.start(job.bind())
        async with asyncio.timeout(60):
            await ended.wait()
        await client.start(job.bind(), delay=3600)
        response = await http.get("/metrics")

    samples = samples_of(response.text)
    assert value(samples, "holdfast_started_total", type="ship") == 2
    assert value(samples, "holdfast_completed_total", type="ship") == 1
    assert value(samples, "holdfast_run_seconds_count", type="ship") == 1
    assert value(samples, "holdfast_worker_attempts_total", type="ship", outcome="completed") == 1
    assert value(samples, "holdfast_worker_run_seconds_count", type="ship") == 1
    assert value(samples, "holdfast_due_jobs", type="ship") == 0
    assert value(samples, "holdfast_oldest_due_seconds", type="ship") == 0
    assert value(samples, "holdfast_slots", group="default") > 0
    assert value(samples, "holdfast_up") == 1
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")


async def test_the_rest_is_served_while_the_store_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = Jobs()
    job = jobs.job(ship)
    async with served(jobs) as (client, http, ended):
        await client.start(job.bind())
        async with asyncio.timeout(60):
            await ended.wait()
        perform = client.store.perform

        async def fail(operation: Any) -> Any:
            if isinstance(operation, GetCounters):
                raise StoreUnavailable("memory:", "no connection")
            return await perform(operation)

        monkeypatch.setattr(client.store, "perform", fail)
        samples = samples_of((await http.get("/metrics")).text)

    assert value(samples, "holdfast_due_jobs", type="ship") == 0
    assert value(samples, "holdfast_worker_attempts_total", type="ship", outcome="completed") == 1
    assert not any(name == "holdfast_started_total" for name, _ in samples)


async def test_many_requests_read_the_store_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.supervisor.exporting.monotonic", lambda: 100.0)
    reads = 0
    jobs = Jobs()
    jobs.job(ship)
    async with served(jobs) as (client, http, _):
        perform = client.store.perform

        def counting(operation: Any) -> Any:
            nonlocal reads
            reads += isinstance(operation, GetCounters)
            return perform(operation)

        monkeypatch.setattr(client.store, "perform", counting)
        await http.get("/healthz")
        assert reads == 0
        await asyncio.gather(*(http.get("/metrics") for _ in range(5)))

    assert reads == 1


async def test_the_worker_command_serves_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"sqlite:///{tmp_path}/jobs.db"
    monkeypatch.setenv("HOLDFAST_STORE", address)
    monkeypatch.setenv("HOLDFAST_APP", "tests.edges.cli.shop:jobs")
    port = free_port()
    with SyncClient(address, migrate=True) as client, process("--health", f"127.0.0.1:{port}"):
        await asyncio.to_thread(client.run, add.bind(a=1), timeout=60)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=TIMEOUT) as http:
            text = await receive(http, "/metrics", "holdfast_completed_total{")

    assert value(samples_of(text), "holdfast_completed_total", type="add") == 1
    assert "# TYPE holdfast_worker_attempts_total counter" in text


async def test_a_supervisor_serves_the_store_and_its_processes(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    async with harness.client:
        options: dict[str, Any] = {"listen": ("127.0.0.1", 0), "exporter": exporter()}
        async with harness.supervised(**options) as (supervisor, recorder), httpx.AsyncClient(timeout=TIMEOUT) as http:
            await ready(supervisor, recorder)
            await harness.client.run(note.bind(7), timeout=60)
            assert supervisor.endpoint is not None
            host, port = supervisor.endpoint.address
            url = f"http://{host}:{port}/metrics"
            async with asyncio.timeout(60):  # the process reports its attempts a moment later
                while ATTEMPTED not in (text := (await http.get(url)).text):
                    pass
            samples = samples_of(text)

    assert value(samples, "holdfast_worker_run_seconds_count", type="note") == 1
    assert value(samples, "holdfast_worker_wait_seconds_count", type="note") == 1
    assert value(samples, "holdfast_started_total", type="note") == 1
    assert value(samples, "holdfast_processes", group="default") == 1


def test_without_the_library_the_endpoint_stays_as_it_is() -> None:
    program = (
        "import sys\n"
        "sys.modules['prometheus_client'] = None\n"
        "from holdfast.cli.exporters import exporter\n"
        "assert exporter() is None\n"
    )

    subprocess.run([sys.executable, "-c", program], check=True)
