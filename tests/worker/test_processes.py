"""Handlers in child processes: their values and errors. The end of a child does not end the worker."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from holdfast import ChainCancelled, ChainFailed, Client, Jobs, Status, Worker
from holdfast.engine.operations import GetSteps
from holdfast.stores.memory import MemoryStore
from tests.worker import process_jobs
from tests.worker.process_clients import client as client
from tests.worker.process_clients import working


async def test_a_handler_s_value_comes_back_from_another_process(client: Client) -> None:
    async with working(client):
        assert await client.run(process_jobs.add.bind(1, 2), timeout=60) == 3
        assert await client.run(process_jobs.pid.bind(), timeout=60) != os.getpid()
        assert await client.run(process_jobs.parent.bind(), timeout=60) == os.getpid()


async def test_children_are_reused(client: Client) -> None:
    async with working(client):
        pids = [await client.run(process_jobs.pid.bind(), timeout=60) for _ in range(5)]

    assert len(set(pids)) == 1


async def test_a_handler_continues_its_chain(client: Client) -> None:
    async with working(client):
        assert await client.run(process_jobs.hand_over.bind(1), timeout=60) == 11


async def test_an_error_comes_with_the_child_s_traceback(client: Client) -> None:
    async with working(client):
        chain = await client.start(process_jobs.raise_error.bind())
        with pytest.raises(ChainFailed, match="something failed"):
            await client.wait(chain, timeout=60)

    report = await client.report(chain.id)
    assert report is not None
    error = report.attempts[0].error
    assert error is not None
    assert error.type == "ValueError"
    assert 'process_jobs.py", line' in error.traceback
    assert 'raise ValueError("something failed")' in error.traceback


async def test_an_error_that_cannot_be_pickled_keeps_its_name_and_text(client: Client) -> None:
    async with working(client):
        chain = await client.start(process_jobs.raise_unpicklable.bind())
        with pytest.raises(ChainFailed, match="1 and 2"):
            await client.wait(chain, timeout=60)

    job = await client.get_job(chain.id)
    assert job is not None
    assert job.error is not None
    assert job.error.type == "Unpicklable"


async def test_fail_cancel_and_reschedule_work_as_in_other_handlers(client: Client) -> None:
    async with working(client) as recorder:
        with pytest.raises(ChainFailed, match="not possible"):
            await client.run(process_jobs.raise_fail.bind(), timeout=60)
        with pytest.raises(ChainCancelled, match="not needed"):
            await client.run(process_jobs.raise_cancel.bind(), timeout=60)
        later = await client.start(process_jobs.raise_reschedule.bind())
        await recorder.receive("rescheduled")

    report = await client.report(later.id)
    assert report is not None
    assert report.job.status is Status.PENDING
    assert report.attempts[0].error is not None
    assert "not yet" in str(report.attempts[0].error)


async def test_a_wrong_output_is_a_failed_attempt(client: Client) -> None:
    async with working(client):
        with pytest.raises(ChainFailed, match="return_wrong_type: its output"):
            await client.run(process_jobs.return_wrong_type.bind(), timeout=60)


async def test_a_child_that_dies_costs_one_attempt_of_one_job(client: Client, tmp_path: Path) -> None:
    async with working(client) as recorder:
        dying = await client.start(process_jobs.exit_once.bind(str(tmp_path / "marker")))
        others = await client.start_many([process_jobs.add.bind(number) for number in range(20)])
        assert await client.wait(dying, timeout=60) == "survived"
        assert [await client.wait(chain, timeout=60) for chain in others] == list(range(1, 21))

    report = await client.report(dying.id)
    assert report is not None
    assert [attempt.outcome for attempt in report.attempts] == ["failed", "completed"]
    assert "ended with exit code 7" in str(report.attempts[0].error)
    assert len(recorder.find("retrying")) == 1


async def test_a_segfault_is_reported_with_its_traceback(client: Client) -> None:
    async with working(client):
        chain = await client.start(process_jobs.crash.bind())
        with pytest.raises(ChainFailed, match="SIGSEGV"):
            await client.wait(chain, timeout=60)
        assert await client.run(process_jobs.add.bind(1), timeout=60) == 2

    job = await client.get_job(chain.id)
    assert job is not None
    assert job.error is not None
    assert "process_jobs.py" in job.error.traceback


async def test_a_handler_that_exits_has_failed(client: Client) -> None:
    async with working(client):
        with pytest.raises(ChainFailed, match="SystemExit: 3"):
            await client.run(process_jobs.call_exit.bind(), timeout=60)


@pytest.mark.parametrize(
    "kind",
    [
        "KeyboardInterrupt", "GeneratorExit", "CancelledError", "StopIteration", "StopAsyncIteration", "Unprintable",
        "UnprintableInTheWorker",
    ],
)  # fmt: skip
async def test_whatever_a_handler_raises_is_a_failed_attempt(client: Client, kind: str) -> None:
    async with working(client):
        with pytest.raises(ChainFailed, match=kind):
            await client.run(process_jobs.interrupt.bind(kind), timeout=60)
        assert await client.run(process_jobs.add.bind(1), timeout=60) == 2


async def test_a_call_for_which_there_is_no_thread_costs_no_child(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def start_most(thread: threading.Thread) -> None:
        if thread.name.startswith("holdfast-crowded-"):
            raise RuntimeError("can't start new thread")
        start(thread)

    async with working(client, worker_id="crowded"):
        with monkeypatch.context() as crowded:
            crowded.setattr(threading.Thread, "start", start_most)
            with pytest.raises(ChainFailed, match="new thread"):
                await client.run(process_jobs.add.bind(1).options(max_attempts=1), timeout=60)

        assert await client.run(process_jobs.add.bind(1), timeout=60) == 2
        assert len(multiprocessing.active_children()) == 1


async def test_a_memory_limit_fails_the_attempt_and_not_the_worker(client: Client) -> None:
    async with working(client, memory_limit=1 << 30):
        with pytest.raises(ChainFailed, match="MemoryError"):
            await client.run(process_jobs.allocate.bind(2000), timeout=60)
        assert await client.run(process_jobs.allocate.bind(1), timeout=60) == 1 << 20


async def test_the_lease_of_a_child_that_holds_the_gil_is_renewed(client: Client) -> None:
    async with working(client) as recorder:
        assert await client.run(process_jobs.hold_gil.bind(1.5), timeout=60) == "done"

    assert len(recorder.find("renewed")) >= 3
    assert not recorder.find("lost", "reaped")


async def test_middlewares_wrap_the_call_and_see_its_value(client: Client) -> None:
    seen: list[Any] = []

    async def look(attempt: Any, call_next: Any) -> Any:
        seen.append((attempt.job.type, value := await call_next()))
        return value

    async with working(client, middlewares=[look]):
        await client.run(process_jobs.add.bind(1), timeout=60)

    assert seen == [("add", 2)]


async def test_a_type_that_a_child_could_not_import_is_refused_when_the_worker_is_created() -> None:
    jobs = Jobs()

    @jobs.job(executor="process")
    def hidden() -> None: ...

    with pytest.raises(TypeError, match=r"hidden: .*another process can import"):
        Worker(Client(MemoryStore(), jobs))


async def test_a_handler_in_a_child_has_steps_and_no_transactions(client: Client) -> None:
    async with working(client, poll_interval=0.05) as recorder:
        chain = await client.start(process_jobs.fulfil.bind(7))
        await recorder.receive("suspended")

        assert await client.send(chain, "label", "A-17")

        pid, label, texts = await client.wait(chain, timeout=60)
    assert (pid != os.getpid(), label) == (True, "A-17")
    assert ["no transactions" in text for text in texts] == [True, True]
    assert recorder.kinds(chain.id).count("retrying") == 1
    steps = await client.steps(chain)
    assert [(step.name, step.attempt) for step in steps] == [("pid", 1), ("rows", 2), ("short", 2), ("label", 2)]
    job = await client.get_job(chain.id)
    assert job is not None
    assert job.progress == 0.5


async def test_a_handler_in_a_child_that_catches_suspended_fails(client: Client) -> None:
    async with working(client):
        with pytest.raises(ChainFailed, match="Suspended"):
            await client.run(process_jobs.swallow.bind(), timeout=60)


async def test_a_step_in_a_child_is_fenced(client: Client) -> None:
    async with working(client) as recorder:
        chain = await client.start(process_jobs.late_step.bind())
        await recorder.receive("started")
        await recorder.until(lambda: client.store.perform_sync(GetSteps((chain.id,)))[0])

        await client.cancel(chain)

        await recorder.receive("lost")
    assert [step.name for step in await client.steps(chain)] == ["begun"]


async def test_an_input_that_only_the_child_cannot_read_is_a_mismatch(client: Client, tmp_path: Path) -> None:
    # A deployment may replace the files under a running worker: its next child imports newer code.
    module = tmp_path / "rolling.py"
    source = """
from holdfast import Jobs

jobs = Jobs()


@jobs.job(executor="process")
def resize(image: int{more}) -> int:
    return image
"""
    module.write_text(source.format(more=", mode: str = ''"))
    sys.path.insert(0, str(tmp_path))
    try:
        rolling = importlib.import_module("rolling")
        async with Client(MemoryStore(), rolling.jobs) as other, working(other) as recorder:
            module.write_text(source.format(more=""))
            importlib.invalidate_caches()
            chain = await other.start(rolling.resize.bind(1, mode="crop"))
            event = await recorder.receive("mismatched", job_id=chain.id)
            job = await other.get_job(chain.id)
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("rolling", None)

    assert "mode" in str(event.error)
    assert job is not None
    assert (job.status, job.attempt) == (Status.PENDING, 0)
