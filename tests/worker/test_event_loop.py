"""The event loop of a worker process continues when a task that a handler started raises KeyboardInterrupt."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from holdfast import ChainFailed, Client, Jobs, Worker
from holdfast.stores.memory import MemoryStore
from holdfast.worker import event_loop
from tests.worker.harness import in_time


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_task_that_raises_costs_an_attempt_and_a_signal_still_stops_the_worker(
    error: type[BaseException], number: signal.Signals, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = Jobs()

    async def interrupt() -> None:
        raise error

    @jobs.job
    async def with_tasks() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(interrupt())

    async def main() -> str:
        async with Client(MemoryStore(), jobs) as client:
            working = asyncio.create_task(Worker(client, grace=1).run())
            for _ in range(2):
                with pytest.raises(ChainFailed, match=error.__name__):
                    await client.run(with_tasks.bind().options(max_attempts=1), timeout=60)
            os.kill(os.getpid(), number)
            await in_time(working)
        return "stopped"

    assert event_loop.run(main()) == "stopped"
    assert caplog.text.count(f"a task raised {error.__name__}") == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ZeroDivisionError])
def test_an_error_of_the_main_coroutine_ends_the_loop(error: type[BaseException]) -> None:
    async def main() -> None:
        raise error

    with pytest.raises(error):
        event_loop.run(main())


def test_ctrl_c_without_a_worker_ends_the_loop() -> None:
    async def main() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.get_running_loop().create_future()

    with pytest.raises(KeyboardInterrupt):
        event_loop.run(main())
