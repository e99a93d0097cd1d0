"""Workers that disappear or freeze inside an open transaction: their jobs run again soon after the lease."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast import Client, SyncClient, Worker
from holdfast.core.job import Chain
from holdfast.registry.jobs import AnyJobType
from holdfast.stores.postgres import PostgresStore
from holdfast.worker.reaper import REAP_EVERY
from tests.servers.postgres import Postgres
from tests.stores.postgres import held_worker
from tests.stores.postgres.proxy import Proxy, proxy_to

ROOT = Path(__file__).parents[3]
LEASE = 2.0
FEW_SECONDS = 15.0
"""Generous, for a busy machine. Without the termination of the session the job would stay locked."""

KINDS = [
    held_worker.complete,
    held_worker.complete_in_a_thread,
    held_worker.prepare,
    held_worker.complete_after_an_atomic_prepare,
    held_worker.complete_in_a_session,
    held_worker.complete_in_a_blocking_session,
    held_worker.complete_amid_a_statement,
]


@pytest.fixture
def proxy(server: Postgres) -> Iterator[Proxy]:
    with proxy_to(server.port) as proxy:
        yield proxy


@contextmanager
def held(server: Postgres, store: PostgresStore, proxy: Proxy) -> Generator[subprocess.Popen[str]]:
    """A worker behind the proxy, inside the transaction of an attempt."""
    url = server.tcp_address(port=proxy.port, schema=store.schema, notify="off", sslmode="disable")
    engine = f"postgresql+asyncpg://postgres@127.0.0.1:{proxy.port}/postgres"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.stores.postgres.held_worker", url, engine, str(LEASE)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "inside\n"
        yield process
    finally:
        process.kill()
        process.wait(60)
        assert process.stdout is not None
        process.stdout.close()


def vanish(process: subprocess.Popen[str], proxy: Proxy) -> None:
    """The host loses power: neither the server nor the worker receives another byte, FIN or reset."""
    proxy.stop_answering()
    process.kill()


def freeze(process: subprocess.Popen[str], proxy: Proxy) -> None:
    process.send_signal(signal.SIGSTOP)


async def run_again(address: str, chain: Chain[Any]) -> float:
    """Let another worker run the job, and return the seconds until it completed."""
    begun = time.monotonic()
    async with Client(address, held_worker.jobs) as client, Worker(client, lease=LEASE):
        # A busy machine may lose its short lease too.
        assert await client.wait(chain, timeout=120) >= 2
    return time.monotonic() - begun


@pytest.mark.parametrize("harm", [vanish, freeze])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
async def test_a_job_runs_again_after_its_worker_disappears_inside_a_transaction(
    server: Postgres, store: PostgresStore, address: str, proxy: Proxy, kind: AnyJobType, harm: Any
) -> None:
    with SyncClient(address, held_worker.jobs) as client:
        chain = client.start(kind.bind())
    with held(server, store, proxy) as process:
        harm(process, proxy)

        seconds = await run_again(address, chain)

    assert seconds < LEASE + REAP_EVERY + FEW_SECONDS
