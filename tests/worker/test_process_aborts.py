"""Handlers in child processes whose attempt is aborted: timeouts, cancellation, a stop."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import threading
from contextlib import closing
from pathlib import Path

import pytest

from holdfast import ChainFailed, Client, Status
from holdfast.registry.jobs import AnyJobType
from holdfast.worker.process_messages import HandlerAborted, HandlerRequest, HandlerReturned
from holdfast.worker.processes import _Child  # pyright: ignore[reportPrivateUsage]
from tests.worker import process_jobs
from tests.worker.harness import in_time
from tests.worker.process_clients import client as client
from tests.worker.process_clients import working


async def test_a_timeout_kills_the_child(client: Client, tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    async with working(client):
        await client.run(process_jobs.pid.bind(), timeout=60)  # starts the child before the measured call
        with pytest.raises(ChainFailed, match=r"longer than 0\.5 s"):
            await client.run(process_jobs.ignore_timeout.bind(str(marker)), timeout=60)

        with pytest.raises(ProcessLookupError):
            os.kill(int(marker.read_text()), 0)
        assert await client.run(process_jobs.add.bind(1), timeout=60) == 2


def test_a_call_that_is_aborted_before_its_request_is_sent_does_not_run() -> None:
    with closing(_Child(None)) as child:
        number = child.begin()
        child.abort("shutdown")

        assert child.ask(_request(number)) == HandlerAborted()
        assert isinstance(child.ask(_request(child.begin())), HandlerReturned)


def test_a_call_that_ends_during_its_abort_does_not_cost_the_child() -> None:
    class Late(threading.Event):
        """Reports a timeout although the call ends at that moment."""

        def wait(self, timeout: float | None = None) -> bool:
            super().wait()
            return False

    with closing(_Child(None)) as child:
        number, child._ended = child.begin(), Late()  # pyright: ignore[reportPrivateUsage]
        child.abort("timeout")
        child._aborting = False  # pyright: ignore[reportPrivateUsage] - as if the request had been sent before
        child.ask(_request(number))
        for thread in threading.enumerate():
            if thread.name == "holdfast-abort":
                thread.join()

        assert isinstance(child.ask(_request(child.begin())), HandlerReturned)


def test_a_call_is_killed_at_once_if_no_thread_can_send_the_abort(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with closing(_Child(None)) as child:
        number = child.begin()
        replies: list[object] = []
        asking = threading.Thread(target=lambda: replies.append(child.ask(_request(number, process_jobs.sleep))))
        asking.start()
        monkeypatch.setattr(threading.Thread, "start", refuse)
        child.abort("timeout")
        asking.join(60)

        assert not asking.is_alive()
        assert not child.usable


def _request(number: int, job_type: AnyJobType = process_jobs.pid) -> HandlerRequest:
    return HandlerRequest(number, process_jobs.__name__, pickle.dumps(job_type), b"{}")


async def test_a_cancelled_chain_s_handler_receives_the_reason_and_cleans_up(client: Client, tmp_path: Path) -> None:
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    os.mkfifo(begun)
    async with working(client) as recorder:
        chain = await client.start(process_jobs.run_until_aborted.bind(str(begun), str(ended)))
        await in_time(asyncio.to_thread(begun.read_text))
        await client.cancel(chain)
        await recorder.receive("lost")

        assert ended.read_text() == "cancelled"
        assert await client.run(process_jobs.add.bind(1), timeout=60) == 2


async def test_a_stopping_worker_releases_jobs_that_outlast_the_grace_period(client: Client, tmp_path: Path) -> None:
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    os.mkfifo(begun)
    async with working(client, grace=0):
        chain = await client.start(process_jobs.run_until_aborted.bind(str(begun), str(ended)))
        child = int(await in_time(asyncio.to_thread(begun.read_text)))

    assert ended.read_text() == "shutdown"
    job = await client.get_job(chain.id)
    assert job is not None
    assert (job.status, job.attempt) == (Status.PENDING, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


async def test_a_child_ignores_a_signal_to_the_process_group(client: Client) -> None:
    async with working(client):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            assert await client.run(process_jobs.send_signal_to_itself.bind(number), timeout=60) == "still here"


async def test_programs_that_a_handler_starts_can_be_terminated(client: Client) -> None:
    async with working(client):
        assert await client.run(process_jobs.end_programs.bind(), timeout=60) == -signal.SIGTERM
        assert await client.run(process_jobs.end_copies.bind(), timeout=60) == -signal.SIGTERM
        assert await client.run(process_jobs.pool.bind(), timeout=60) == [1, 2]
