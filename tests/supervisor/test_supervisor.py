"""A supervisor with real processes on a real file: it starts, stops, replaces and drains them."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast import Queue, Status
from holdfast.supervisor import Group, Supervisor
from holdfast.supervisor import supervisor as supervisor_module
from tests.leases import expire_leases
from tests.supervisor.harness import QUICK, TIMEOUT, Harness, in_thread, is_over, read, ready, write
from tests.supervisor.work import compute, hog, hold, note, where
from tests.worker.harness import Recorder


async def test_jobs_run_in_processes_that_end_with_the_supervisor(harness: Harness) -> None:
    async with harness.supervised() as (supervisor, recorder):
        chains = await harness.client.start_many([note.bind(number) for number in range(50)])
        assert [await harness.client.wait(chain, timeout=TIMEOUT) for chain in chains] == list(range(50))
        assert await harness.client.run(compute.bind(7), timeout=TIMEOUT) == 49
        pids = [process.pid for fleet in supervisor.fleets for process in fleet.processes]
        assert os.getpid() not in pids

    assert all(map(is_over, pids))
    assert not recorder.find("process_died")


async def test_the_processes_of_a_supervisor_run_the_jobs_of_all_shards(tmp_path: Path) -> None:
    harness = Harness(tmp_path, shards={name: f"sqlite:///{tmp_path}/{name}.db" for name in ("eu", "us")})
    async with harness.client, harness.supervised():
        chains = [await harness.client.start(note.bind(number), shard=("eu", "us")[number % 2]) for number in range(20)]
        assert [await harness.client.wait(chain, timeout=TIMEOUT) for chain in chains] == list(range(20))


async def test_letting_a_process_go_cuts_no_attempt_short(harness: Harness) -> None:
    async with harness.supervised(replace(QUICK, concurrency=1, default_count=3, lease=30)) as (supervisor, recorder):
        held = [harness.gate(str(number)) for number in range(3)]
        chains = await harness.client.start_many([hold.bind(str(begun), str(gate)) for begun, gate in held])
        pids = {int(await read(begun)) for begun, _ in held}
        assert len(pids) == 3
        for process in supervisor.fleets[0].processes:
            process.drain()
        for _, gate in held:
            await write(gate)
        answers = {await harness.client.wait(chain, timeout=TIMEOUT) for chain in chains}
        await recorder.receive("process_ended", times=3)

    assert answers == pids
    jobs = [await harness.client.get_job(chain.id) for chain in chains]
    assert all(job is not None and job.attempt == 1 for job in jobs)


async def test_a_process_that_an_operator_drains_finishes_its_job_and_is_replaced(each_harness: Harness) -> None:
    begun, gate = each_harness.gate("first")
    group = replace(QUICK, concurrency=1, default_count=1, lease=30)
    async with each_harness.supervised(group) as (_, recorder):
        chain = await each_harness.client.start(hold.bind(str(begun), str(gate)))
        pid = int(await read(begun))
        drained = await each_harness.listed_worker(pid)

        await each_harness.client.drain_worker(drained)

        await recorder.receive("process_ready", times=2)
        replaced = await each_harness.client.run(where.bind(), timeout=TIMEOUT)
        await write(gate)
        assert await each_harness.client.wait(chain, timeout=TIMEOUT) == pid
        ended = await recorder.receive("process_ended")

    assert replaced != pid
    assert ended.worker == drained.id
    assert not recorder.find("process_died")
    job = await each_harness.client.get_job(chain.id)
    assert job is not None
    assert job.attempt == 1


@pytest.mark.usefixtures("quick_recovery")
async def test_a_killed_process_is_replaced_and_its_job_runs_again(harness: Harness) -> None:
    begun, gate = harness.gate("first")
    async with harness.supervised(replace(QUICK, lease=30)) as (_, recorder):
        chain = await harness.client.start(hold.bind(str(begun), str(gate)))
        victim = int(await read(begun))
        os.kill(victim, signal.SIGKILL)
        await recorder.receive("process_died")
        await asyncio.to_thread(expire_leases, harness.client.store)
        rescuer = int(await read(begun))
        await write(gate)
        assert await harness.client.wait(chain, timeout=TIMEOUT) == rescuer

    assert rescuer != victim
    report = await harness.client.report(chain.id)
    assert report is not None
    assert [attempt.outcome for attempt in report.attempts] == ["lost", "completed"]


@pytest.mark.usefixtures("quick_recovery")
async def test_processes_that_crash_at_once_are_started_ever_more_slowly(harness: Harness) -> None:
    async with harness.supervised(entry="tests.supervisor.crashing") as (supervisor, recorder):
        died = await recorder.receive("process_died", times=2)
        assert not supervisor.ready

    assert "ended with 3; the next one starts in" in str(died.detail)
    assert len(recorder.find("process_started")) <= 3


async def test_an_idle_fleet_leaves_its_database_at_rest_until_something_is_due(harness: Harness) -> None:
    async with harness.supervised() as (supervisor, recorder):
        await ready(supervisor, recorder)
        async with asyncio.timeout(TIMEOUT):
            # Ten turns of the supervisor each. The first may still read what the start of its process changed.
            while await _readings(supervisor, recorder) > 3:
                continue
        chain = await harness.client.start(note.bind(1), delay=0.3)

        assert await harness.client.wait(chain, timeout=TIMEOUT) == 1


async def _readings(supervisor: Supervisor, recorder: Recorder) -> int:
    before = supervisor.backlog.readings
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await recorder.receive("process_died")
    return supervisor.backlog.readings - before


async def test_what_a_killed_worker_s_child_computes_ends_with_it(harness: Harness) -> None:
    begun, _ = harness.gate("computing")
    async with harness.supervised() as (_, recorder):
        chain = await harness.client.start(hog.bind(str(begun)))
        pipe = await in_thread(begun.open)
        child, worker = map(int, (await in_thread(pipe.readline)).split())
        await harness.client.cancel(chain)
        os.kill(worker, signal.SIGKILL)
        assert await in_thread(pipe.read) == ""  # no process holds the other end
        await recorder.receive("process_died")
        pipe.close()

    assert is_over(child)


async def test_reloading_drains_processes_of_the_old_settings_and_replaces_them(harness: Harness) -> None:
    new = replace(QUICK, concurrency=5)
    async with harness.supervised(reload=lambda: [new]) as (supervisor, recorder):
        await ready(supervisor, recorder)
        (old,) = supervisor.fleets[0].processes
        supervisor.reload()
        await recorder.receive("process_ended")
        await ready(supervisor, recorder)

        (process,) = supervisor.fleets[0].processes
        assert process.pid != old.pid
        assert process.settings.group == new


async def test_reloading_what_cannot_be_used_changes_nothing(harness: Harness) -> None:
    def broken() -> list[Group]:
        raise ValueError("not like this")

    async with harness.supervised(reload=broken) as (supervisor, recorder):
        await ready(supervisor, recorder)
        before = list(supervisor.fleets)
        supervisor.reload()

        assert supervisor.fleets == before
        assert not recorder.find("reloaded", "process_draining")


async def test_groups_share_out_the_types(harness: Harness) -> None:
    cpu = replace(QUICK, name="cpu", types=("where",))
    async with harness.supervised(QUICK, cpu) as (supervisor, _):
        one, other = await asyncio.gather(
            harness.client.run(where.bind(), timeout=TIMEOUT), harness.client.run(where.bind(), timeout=TIMEOUT)
        )
        pids = {fleet.group.name: [each.pid for each in fleet.processes] for fleet in supervisor.fleets}

    assert {one, other} <= set(pids["cpu"])
    assert set(supervisor.fleets[0].settings.types) == {"note", "hold", "queue_up", "compute", "hog"}


async def test_stopping_gives_back_what_outlives_the_grace_period(harness: Harness) -> None:
    begun, gate = harness.gate("held")
    async with harness.supervised(replace(QUICK, grace=0.2, lease=30)):
        chain = await harness.client.start(hold.bind(str(begun), str(gate)))
        await read(begun)

    job = await harness.client.get_job(chain.id)
    assert job is not None
    assert (job.status, job.attempt) == (Status.PENDING, 0)


async def test_a_process_that_does_not_exit_is_killed_and_logged(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_module, "LAST_MOMENTS", 0.3)
    async with harness.supervised(replace(QUICK, grace=0), clean=False) as (supervisor, recorder):
        await ready(supervisor, recorder)
        (process,) = supervisor.fleets[0].processes
        os.kill(process.pid, signal.SIGSTOP)

    assert is_over(process.pid)
    assert process.code == -signal.SIGKILL


async def test_a_group_runs_its_queues_and_their_hooks(harness: Harness) -> None:
    mail = replace(QUICK, name="mail", queues=("letters",))
    queue: Queue[str, str] = Queue("letters", store=harness.url)
    async with harness.supervised(QUICK, mail, app="tests.supervisor.letters:jobs") as (supervisor, _), queue:
        answer = await queue.enqueue_and_wait("first", "hello", timeout=TIMEOUT)
        pids = {fleet.group.name: [each.pid for each in fleet.processes] for fleet in supervisor.fleets}

    answered, _, pid = answer.partition(" from ")
    assert answered == "HELLO"
    assert int(pid) in pids["mail"]
