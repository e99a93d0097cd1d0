"""Load that rises and falls, and killed processes, with real processes on every store that processes share."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from holdfast import Status
from tests.supervisor.command import SupervisorProcess, written
from tests.supervisor.harness import QUICK, TIMEOUT, Harness, lift, most_at_once, read, write
from tests.supervisor.work import hold, note, queue_up


@pytest.mark.usefixtures("quick_recovery")
async def test_load_from_nothing_to_a_peak_and_back_loses_nothing_though_workers_are_killed_on_the_way(
    each_harness: Harness,
) -> None:
    harness, barrier = each_harness, each_harness.barrier()
    async with harness.supervised() as (supervisor, recorder):
        (fleet,) = supervisor.fleets
        chains = await harness.client.start_many([queue_up.bind(str(barrier)) for _ in range(20)])

        await recorder.receive("process_ready", times=2)  # on the way up
        os.kill(max(process.pid for process in fleet.processes), signal.SIGKILL)
        await recorder.receive("process_died")
        await recorder.until(lambda: sum(process.greeted for process in fleet.active) == QUICK.max_count)
        lifted = lift(barrier)
        pids = {await harness.client.wait(chain, timeout=TIMEOUT) for chain in chains}
        await recorder.receive("process_draining")  # on the way down
        os.kill(fleet.active[0].pid, signal.SIGKILL)
        await recorder.receive("process_died", times=2)
        more = await harness.client.start_many([note.bind(number) for number in range(20)])
        assert [await harness.client.wait(chain, timeout=TIMEOUT) for chain in more] == list(range(20))
        await recorder.until(lambda: len(fleet.processes) == QUICK.default_count)
        os.close(lifted)

    assert 1 < len(pids) <= QUICK.max_count
    assert most_at_once(event.kind for event in recorder.events) == QUICK.max_count
    assert (await harness.client.stats()).counts[Status.COMPLETED] == 40


async def test_workers_of_a_supervisor_that_is_killed_finish_what_they_run_and_end(each_harness: Harness) -> None:
    harness, barrier = each_harness, each_harness.barrier()
    begun, gate = harness.gate("held")
    held = await harness.client.start(hold.bind(str(begun), str(gate)))
    await harness.client.start_many([queue_up.bind(str(barrier)) for _ in range(20)])
    supervisor = SupervisorProcess(written(harness))
    try:
        await read(begun)

        supervisor.process.kill()
        await asyncio.to_thread(supervisor.wait_for, "worker_stopping")
        lifted = lift(barrier)
        await write(gate)
        await asyncio.to_thread(supervisor.wait_for_silence)
        os.close(lifted)
    finally:
        supervisor.close()

    job = await harness.client.get_job(held.id)
    assert job is not None
    assert (job.status, job.attempt) == (Status.COMPLETED, 1)
    assert (await harness.client.stats()).counts[Status.RUNNING] == 0
