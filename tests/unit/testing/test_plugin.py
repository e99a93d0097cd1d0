"""The pytest fixtures, as an application's tests use them."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta

from holdfast import Jobs
from holdfast.stores.memory import MemoryStore
from holdfast.testing import ManualClock, drain, drain_sync
from holdfast.testing.plugin import MakeClient, MakeSyncClient

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


def test_a_blocking_client(holdfast_sync_client: MakeSyncClient, holdfast_store: MemoryStore) -> None:
    client = holdfast_sync_client(jobs)
    chain = client.start(ship.bind(7))

    drain_sync(client)

    assert client.store is holdfast_store
    assert client.wait(chain, timeout=0) == "7 shipped"


def test_nothing_but_the_plugin_needs_pytest() -> None:
    code = "import sys, holdfast.testing, holdfast.testing.conformance; sys.exit('pytest' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
