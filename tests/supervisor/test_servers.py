"""A fleet and its database server: few statements while no job is due, and an outage."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.supervisor.harness import QUICK, TIMEOUT, Harness, lift
from tests.supervisor.servers import SERVERS, Server
from tests.supervisor.work import note, queue_up
from tests.worker.harness import Recorder

WINDOW = 2.0


@pytest.fixture(params=SERVERS, scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with SERVERS[request.param]() as server:
        yield server


async def test_an_idle_fleet_sends_no_statements_and_a_new_job_wakes_it(server: Server, tmp_path: Path) -> None:
    harness = Harness(tmp_path, server.url)
    async with harness.client, harness.supervised() as (_, recorder):
        before = server.asked()
        await harness.client.run(note.bind(1), timeout=TIMEOUT)
        assert server.asked() > before
        async with asyncio.timeout(TIMEOUT):
            # With polling, a window would contain twenty statements of the supervisor and eight of the worker. What
            # remains are keepalives of the connections, and in the first windows statements about the job.
            while await _asked(server, recorder) > 4:
                continue

        assert await harness.client.run(note.bind(2), timeout=TIMEOUT) == 2


async def _asked(server: Server, recorder: Recorder) -> int:
    """The number of requests in a period without jobs."""
    before = server.asked()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(WINDOW):
            await recorder.receive("process_died")
    return server.asked() - before


async def test_through_an_outage_the_fleet_waits_and_then_continues(server: Server, tmp_path: Path) -> None:
    harness = Harness(tmp_path, server.url)
    barrier = harness.barrier()
    async with harness.client, harness.supervised() as (supervisor, recorder):
        (fleet,) = supervisor.fleets
        chains = await harness.client.start_many([queue_up.bind(str(barrier)) for _ in range(6)])
        await recorder.until(lambda: sum(process.greeted for process in fleet.active) == QUICK.max_count)
        before = {process.pid for process in fleet.processes}

        server.stop()
        lifted = lift(barrier)
        await recorder.receive("store_error")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3 * QUICK.scale_down_after):
                await recorder.receive("process_draining", "process_died")
        assert {process.pid for process in fleet.active} == before
        assert not supervisor.ready
        server.start()

        assert {await harness.client.wait(chain, timeout=TIMEOUT) for chain in chains} <= before
        await recorder.until(lambda: len(fleet.processes) == QUICK.default_count)
        assert await harness.client.run(note.bind(3), timeout=TIMEOUT) == 3
        os.close(lifted)

    assert not recorder.find("process_died")
