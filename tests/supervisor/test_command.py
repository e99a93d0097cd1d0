"""`holdfast supervise` as a shell, a service manager or a container runs it: signals, exit codes, kills."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Status
from tests.supervisor.command import ROOT, SupervisorProcess, written
from tests.supervisor.harness import TIMEOUT, Harness, read, write
from tests.supervisor.work import hold


@pytest.fixture
def config(harness: Harness) -> Path:
    return written(harness)


@pytest.fixture
def supervisor(config: Path) -> Iterator[SupervisorProcess]:
    supervisor = SupervisorProcess(config)
    yield supervisor
    supervisor.close()


async def test_sigterm_drains_the_fleet_and_ends_well(harness: Harness, supervisor: SupervisorProcess) -> None:
    begun, gate = harness.gate("held")
    chain = await harness.client.start(hold.bind(str(begun), str(gate)))
    await read(begun)

    supervisor.signal(signal.SIGTERM)
    await asyncio.to_thread(supervisor.wait_for, "worker_stopping")
    await write(gate)

    assert await asyncio.to_thread(supervisor.process.wait, TIMEOUT) == 0
    job = await harness.client.get_job(chain.id)
    assert job is not None
    assert (job.status, job.attempt) == (Status.COMPLETED, 1)
    await asyncio.to_thread(supervisor.wait_for_silence)


async def test_a_second_sigterm_ends_the_grace_period(harness: Harness, supervisor: SupervisorProcess) -> None:
    begun, gate = harness.gate("held")
    chain = await harness.client.start(hold.bind(str(begun), str(gate)))
    await read(begun)

    supervisor.signal(signal.SIGTERM)
    await asyncio.to_thread(supervisor.wait_for, "worker_stopping")
    supervisor.signal(signal.SIGTERM)

    assert await asyncio.to_thread(supervisor.process.wait, TIMEOUT) == 0
    job = await harness.client.get_job(chain.id)
    assert job is not None
    assert (job.status, job.attempt) == (Status.PENDING, 0)


async def test_sighup_reads_the_file_again(supervisor: SupervisorProcess, config: Path) -> None:
    await asyncio.to_thread(supervisor.wait_for, "process_ready")
    await asyncio.to_thread(_edit, config, "default_count = 1", "default_count = 2")

    supervisor.signal(signal.SIGHUP)
    await asyncio.to_thread(supervisor.wait_for, "process_ready", times=2)

    await asyncio.to_thread(_edit, config, "max_count = 3", "max_count = nonsense")
    supervisor.signal(signal.SIGHUP)
    await asyncio.to_thread(supervisor.wait_for_text, "the old ones stay in use")

    await asyncio.to_thread(_edit, config, "max_count = nonsense", "max_count = 3", more='[logging]\nlevel = "debug"\n')
    supervisor.signal(signal.SIGHUP)
    await asyncio.to_thread(supervisor.wait_for_text, "[logging] cannot change")
    assert await asyncio.to_thread(supervisor.end) == 0
    assert supervisor.count("process_died") == 0
    assert not any("traceback" in line for line in supervisor.lines)


async def test_signals_to_every_process_of_the_group_do_not_end_the_grace_period(
    harness: Harness, supervisor: SupervisorProcess
) -> None:
    """A service manager signals the whole group. The kernel signals it several times when a supervisor dies."""
    begun, gate = harness.gate("held")
    chain = await harness.client.start(hold.bind(str(begun), str(gate)))
    worker = int(await read(begun))

    os.kill(worker, signal.SIGTERM)
    await asyncio.to_thread(supervisor.wait_for, "worker_stopping")
    for _ in range(3):
        os.kill(worker, signal.SIGTERM)
    supervisor.signal(signal.SIGTERM)
    with pytest.raises(
        subprocess.TimeoutExpired
    ):  # if the signals ended the grace period, it would end now, without the job
        await asyncio.to_thread(supervisor.process.wait, 0.7)
    await write(gate)

    assert await asyncio.to_thread(supervisor.process.wait, TIMEOUT) == 0
    job = await harness.client.get_job(chain.id)
    assert job is not None
    assert (job.status, job.attempt) == (Status.COMPLETED, 1)


async def test_a_worker_that_hangs_ends_too_when_its_supervisor_is_killed(harness: Harness) -> None:
    begun, gate = harness.gate("held")
    await harness.client.start(hold.bind(str(begun), str(gate)))
    supervisor = SupervisorProcess(written(harness, grace_seconds=0.2))
    try:
        await read(begun)

        supervisor.process.kill()

        await asyncio.to_thread(supervisor.wait_for_silence)
    finally:
        supervisor.close()


async def test_ctrl_c_ends_a_simulation_and_its_workers(harness: Harness) -> None:
    config = harness.folder / "holdfast.toml"
    config.write_text("[workers]\ndefault_count = 1\nmax_count = 1\nconcurrency = 2\n[work_kinds.a]\nduration = 0.1\n")
    command = [sys.executable, "-m", "holdfast.cli", "simulate", "--config", str(config), "--store", harness.url]
    simulation = await asyncio.create_subprocess_exec(
        *command, "--jobs", "2000", cwd=ROOT, stderr=asyncio.subprocess.PIPE
    )

    async with asyncio.timeout(TIMEOUT):
        async for event in harness.client.events():
            if event.kind == "completed":
                break
        simulation.send_signal(signal.SIGINT)
        await simulation.communicate()  # its workers hold the other end too

    assert simulation.returncode == 130
    counts = (await harness.client.stats()).counts
    assert counts[Status.RUNNING] == 0
    assert counts[Status.PENDING] > 0


@pytest.mark.parametrize(("duty", "zombies"), [("init", "0"), ("no duty", "1")])
async def test_as_process_1_it_reaps_orphans(harness: Harness, duty: str, zombies: str) -> None:
    command = [sys.executable, "-m", "tests.supervisor.first_process", harness.url, duty]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)

    async with asyncio.timeout(TIMEOUT):
        reported, _ = await process.communicate()

    assert process.returncode == 0
    assert reported.decode().strip() == zombies


def _edit(path: Path, old: str, new: str, *, more: str = "") -> None:
    path.write_text(path.read_text().replace(old, new) + more)
