"""`holdfast worker --health HOST:PORT`: the paths of the supervisor's endpoint, for one worker."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast import Client, Jobs, SyncClient, Worker
from holdfast.engine.operations import GetStats
from holdfast.stores.memory import MemoryStore
from holdfast.supervisor.worker_health import WorkerHealth
from tests.edges.cli.conftest import CommandLine
from tests.edges.cli.shop import add
from tests.edges.cli.test_worker_command import process
from tests.servers.ports import free_port
from tests.waiting import TIMEOUT

jobs = Jobs()
gate = asyncio.Event()
held: asyncio.Queue[None] = asyncio.Queue()


@jobs.job
async def hold() -> None:
    held.put_nowait(None)
    await gate.wait()


@asynccontextmanager
async def served(client: Client, worker: Worker) -> AsyncGenerator[httpx.AsyncClient]:
    async with WorkerHealth(worker, client, ("127.0.0.1", 0)) as health:
        host, port = health.endpoint.address
        async with httpx.AsyncClient(base_url=f"http://{host}:{port}", timeout=TIMEOUT) as http:
            yield http


@pytest.fixture
async def client() -> AsyncGenerator[Client]:
    async with Client(MemoryStore(), jobs) as client:
        await client.store.open()
        yield client


async def test_it_reports_the_backlog_the_busy_slots_and_the_health(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.supervisor.worker_health.REFRESH", 0.0)
    gate.clear()
    worker = Worker(client, concurrency=2)
    async with served(client, worker) as http:
        assert (await http.get("/healthz")).text == "ok\n"
        assert (await http.get("/readyz")).status_code == 503

        async with worker:
            chains = await client.start_many([hold.bind() for _ in range(3)])
            async with asyncio.timeout(60):
                await held.get()
                await held.get()
            assert (await http.get("/readyz")).status_code == 200
            backlog = (await http.get("/backlog")).json()
            metrics = (await http.get("/metrics")).text
            gate.set()
            for chain in chains:
                await client.wait(chain, timeout=60)

        assert (backlog["known"], backlog["running"], backlog["due"]) == (True, 2, 1)
        assert backlog["groups"]["default"]["busy"] == 2
        assert 'holdfast_slots{group="default"} 2' in metrics
        assert 'holdfast_due_jobs{type="hold"} 1' in metrics
        assert (await http.get("/readyz")).status_code == 503
        assert (await http.get("/elsewhere")).status_code == 404


async def test_it_reads_the_store_only_for_requests_and_at_most_once_a_second(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = 0
    perform = client.store.perform

    def counting(operation: Any) -> Any:
        nonlocal reads
        reads += isinstance(operation, GetStats)
        return perform(operation)

    monkeypatch.setattr(client.store, "perform", counting)
    monkeypatch.setattr("holdfast.supervisor.worker_health.monotonic", lambda: 100.0)
    async with served(client, Worker(client)) as http:
        await http.get("/healthz")
        assert reads == 0
        await asyncio.gather(*(http.get("/metrics") for _ in range(5)))
        assert reads == 1


async def test_it_is_not_ready_while_the_store_does_not_answer(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(operation: Any) -> Any:
        await asyncio.Event().wait()

    async with served(client, Worker(client)) as http:
        monkeypatch.setattr("holdfast.supervisor.worker_health.READ_TIMEOUT", 0.05)
        monkeypatch.setattr(client.store, "perform", silent)
        response = await http.get("/backlog")

    assert (response.status_code, response.json()["known"]) == (503, False)


async def test_the_command_serves_it(client_of_file: SyncClient) -> None:
    port = free_port()
    with process("--health", f"127.0.0.1:{port}"):
        await asyncio.to_thread(client_of_file.run, add.bind(a=1), timeout=60)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=TIMEOUT) as http:
            await receive(http, "/readyz", "ready\n")
            await receive(http, "/metrics", "holdfast_up 1")


async def receive(http: httpx.AsyncClient, path: str, text: str) -> str:
    """The answer, as soon as it contains the text. A worker on a busy machine may not read its store in time."""
    async with asyncio.timeout(TIMEOUT):
        while text not in (answer := (await http.get(path)).text):
            pass
    return answer


@pytest.fixture
def client_of_file(holdfast: CommandLine, tmp_path: Path) -> Any:
    with SyncClient(holdfast.store, migrate=True) as client:
        yield client


def test_an_address_that_is_none_or_in_use_is_refused(holdfast: CommandLine, client_of_file: SyncClient) -> None:
    assert "is no address" in holdfast("worker", "--health", "nowhere", exit=2).err
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert "cannot listen" in holdfast("worker", "--health", f"127.0.0.1:{port}", exit=2).err
