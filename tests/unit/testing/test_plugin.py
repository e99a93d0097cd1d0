"""The pytest fixtures, as an application's tests use them."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import time_machine
from freezegun import freeze_time

from holdfast import Jobs
from holdfast.core.clock import to_datetime
from holdfast.engine.store import Store
from holdfast.stores.memory import MemoryStore
from holdfast.testing import ManualClock, drain
from holdfast.testing.plugin import Drain, MakeClient, MakeSyncClient, MakeWorker

jobs = Jobs()


@jobs.job
async def ship(order: int) -> str:
    return f"{order} shipped"


async def test_a_client_and_a_clock(holdfast_client: MakeClient, holdfast_clock: ManualClock) -> None:
    kinds: list[str] = []
    client = holdfast_client(jobs, observers=[lambda event: kinds.append(event.kind)])
    chain = await client.start(ship.bind(7), at=datetime.now(UTC) + timedelta(days=1))

    assert await drain(client) == []
    holdfast_clock.advance(timedelta(days=2))
    await drain(client)

    assert await client.wait(chain, timeout=0) == "7 shipped"
    assert kinds[0] == "created"


def test_a_blocking_client(holdfast_sync_client: MakeSyncClient, holdfast_store: Store, holdfast_drain: Drain) -> None:
    client = holdfast_sync_client(jobs)
    chain = client.start(ship.bind(7))

    holdfast_drain(client)

    assert client.store is holdfast_store
    assert client.wait(chain, timeout=0) == "7 shipped"


def test_without_the_fixture_of_the_clock_the_store_keeps_its_own(holdfast_store: Store) -> None:
    assert isinstance(holdfast_store, MemoryStore)
    assert holdfast_store.clock is None


async def test_a_worker_notices_that_freezegun_moves_the_time(
    holdfast_client: MakeClient, holdfast_worker: MakeWorker, holdfast_clock: ManualClock
) -> None:
    client = holdfast_client(jobs)
    with freeze_time("2026-05-01 12:00:00", real_asyncio=True) as frozen:
        async with holdfast_worker(client, concurrency=1):
            chain = await client.start(ship.bind(7), at=datetime(2026, 5, 1, 13, tzinfo=UTC))
            assert chain.created_at == datetime(2026, 5, 1, 12, tzinfo=UTC)
            frozen.tick(timedelta(hours=2))
            assert await client.wait(chain, timeout=30) == "7 shipped"
    assert to_datetime(holdfast_clock()) == datetime(2026, 5, 1, 14, tzinfo=UTC)


async def test_time_machine_moves_the_clock_and_so_does_a_drain(
    holdfast_client: MakeClient, holdfast_drain: Drain, holdfast_clock: ManualClock
) -> None:
    client = holdfast_client(jobs)
    with time_machine.travel(datetime(2026, 5, 1, tzinfo=UTC), tick=False) as traveller:
        chain = await client.start(ship.bind(7), delay=3600)
        assert await holdfast_drain(client) == []
        traveller.shift(7200)
        assert len(await holdfast_drain(client)) == 1
        assert await client.wait(chain, timeout=0) == "7 shipped"
        await client.start(ship.bind(8), delay=60)
        assert len(await holdfast_drain(client, advance=True)) == 1
        assert to_datetime(holdfast_clock()) == datetime(2026, 5, 1, 2, 1, tzinfo=UTC)
    now = holdfast_clock()
    assert holdfast_clock() == now  # the real time does not move it


def test_nothing_but_the_plugin_needs_pytest() -> None:
    code = "import sys, holdfast.testing, holdfast.testing.conformance; sys.exit('pytest' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
