"""`holdfast supervise` as a shell, a service manager or a container runs it: signals, exit codes, sudden death."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Status
from tests.supervisor.command import ROOT, SupervisorProcess
from tests.supervisor.ground import APP, PATIENCE, Ground, read, write
from tests.supervisor.work import hold, note, pause

WORKERS = """
default_count = 1
max_count = 3
concurrency = 2
scale_interval_ms = 100
scale_down_seconds = 0.5
lease_timeout_seconds = 6
grace_seconds = 5
"""


@pytest.fixture
def config(ground: Ground) -> Path:
    path = ground.folder / "holdfast.toml"
    path.write_text(f'store = "{ground.url}"\napp = "{APP}"\n[workers]{WORKERS}')
    return path


@pytest.fixture
def supervisor(config: Path) -> Iterator[SupervisorProcess]:
    supervisor = SupervisorProcess(config)
    yield supervisor
    supervisor.close()


async def test_sigterm_drains_the_fleet_and_ends_well(ground: Ground, supervisor: SupervisorProcess) -> None:
    begun, gate = ground.gate("held")
    chain = await ground.client.start(hold.bind(str(begun), str(gate)))
    await read(begun)

    supervisor.signal(signal.SIGTERM)
    await asyncio.to_thread(supervisor.wait_for, "worker_stopping")
    await write(gate)

    assert await asyncio.to_thread(supervisor.process.wait, PATIENCE) == 0
    job = await ground.client.get_job(chain.id)
    assert job is not None
    assert (job.status, job.attempt) == (Status.COMPLETED, 1)
    await asyncio.to_thread(supervisor.wait_for_silence)


async def test_a_second_sigterm_ends_the_grace_period(ground: Ground, supervisor: SupervisorProcess) -> None:
    begun, gate = ground.gate("held")
    chain = await ground.client.start(hold.bind(str(begun), str(gate)))
    await read(begun)

    supervisor.signal(signal.SIGTERM)
    await asyncio.to_thread(supervisor.wait_for, "worker_stopping")
    supervisor.signal(signal.SIGTERM)

    assert await asyncio.to_thread(supervisor.process.wait, PATIENCE) == 0
    job = await ground.client.get_job(chain.id)
    assert job is not None
    assert (job.status, job.attempt) == (Status.PENDING, 0)


async def test_sighup_reads_the_file_again(supervisor: SupervisorProcess, config: Path) -> None:
    await asyncio.to_thread(supervisor.wait_for, "process_ready")
    await asyncio.to_thread(_edit, config, "default_count = 1", "default_count = 2")

    supervisor.signal(signal.SIGHUP)
    await asyncio.to_thread(supervisor.wait_for, "process_ready", times=2)

    await asyncio.to_thread(_edit, config, "max_count = 3", "max_count = nonsense")
    supervisor.signal(signal.SIGHUP)
    assert await asyncio.to_thread(supervisor.end) == 0
    assert supervisor.count("process_died") == 0


async def test_workers_of_a_supervisor_that_is_killed_end_by_themselves(
    ground: Ground, supervisor: SupervisorProcess
) -> None:
    begun, gate = ground.gate("held")
    chain = await ground.client.start(hold.bind(str(begun), str(gate)))
    await ground.client.start_many([pause.bind(0.2) for _ in range(30)])
    await read(begun)

    supervisor.process.kill()
    await write(gate)

    await asyncio.to_thread(supervisor.wait_for_silence)
    assert not supervisor.running
    job = await ground.client.get_job(chain.id)
    assert job is not None
    assert job.status is Status.COMPLETED


async def test_a_worker_that_hangs_ends_too_when_its_supervisor_is_killed(
    ground: Ground, supervisor: SupervisorProcess
) -> None:
    begun, gate = ground.gate("held")
    await ground.client.start(hold.bind(str(begun), str(gate)))
    await read(begun)

    supervisor.process.kill()

    await asyncio.to_thread(supervisor.wait_for_silence)
    assert not supervisor.running


async def test_load_that_comes_and_goes_stays_within_bounds_and_loses_nothing_though_workers_are_killed(
    ground: Ground, supervisor: SupervisorProcess
) -> None:
    await asyncio.to_thread(supervisor.wait_for, "process_ready")
    chains = await ground.client.start_many([pause.bind(0.1) for _ in range(120)])

    await asyncio.to_thread(supervisor.wait_for, "process_ready")  # on the way up
    os.kill(max(supervisor.pids), signal.SIGKILL)
    answers = {await ground.client.wait(chain, timeout=PATIENCE) for chain in chains}
    await asyncio.to_thread(supervisor.wait_for, "process_draining")  # on the way down
    os.kill(min(supervisor.running), signal.SIGKILL)
    more = await ground.client.start_many([note.bind(number) for number in range(20)])

    assert [await ground.client.wait(chain, timeout=PATIENCE) for chain in more] == list(range(20))
    assert len(answers) > 1
    assert await asyncio.to_thread(supervisor.end) == 0
    stats = await ground.client.stats()
    assert stats.counts[Status.COMPLETED] == 140
    assert _most_at_once(supervisor) <= 3


@pytest.mark.parametrize(("duty", "zombies"), [("init", "0"), ("no duty", "1")])
async def test_as_process_1_it_reaps_orphans(ground: Ground, duty: str, zombies: str) -> None:
    command = [sys.executable, "-m", "tests.supervisor.first_process", ground.url, duty]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)

    async with asyncio.timeout(PATIENCE):
        told, _ = await process.communicate()

    assert process.returncode == 0
    assert told.decode().strip() == zombies


def _edit(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


def _most_at_once(supervisor: SupervisorProcess) -> int:
    """The most worker processes that ran at a time, by the log."""
    now = most = 0
    for line in supervisor.lines:
        now += {"process_started": 1, "process_ended": -1, "process_died": -1}.get(line.get("event", ""), 0)
        most = max(most, now)
    return most
