"""A worker in a thread of its own, for applications without an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager

from holdfast.client.client import Client
from holdfast.registry.jobs import Jobs
from holdfast.worker import Worker


@contextmanager
def running_worker(address: str, jobs: Jobs, make: Callable[[Client], Worker] | None) -> Generator[None]:
    """Run a worker until the block ends. Its jobs are finished, or released at the end of its grace period."""
    # Either the function that stops it, or the error that prevented its start.
    begun: Future[Callable[[], object]] = Future()
    ended: Future[None] = Future()

    def run() -> None:
        try:
            asyncio.run(_work(address, jobs, make, begun))
        except BaseException as error:
            (ended if begun.done() else begun).set_exception(error)
        else:
            ended.set_result(None)

    thread = threading.Thread(target=run, name="holdfast-inline-worker")
    thread.start()
    try:
        stop = begun.result()
    except BaseException:
        thread.join()
        raise
    try:
        yield
    finally:
        stop()
        thread.join()
    ended.result()


async def _work(
    address: str,
    jobs: Jobs,
    make: Callable[[Client], Worker] | None,
    begun: Future[Callable[[], object]],
) -> None:
    loop, end = asyncio.get_running_loop(), asyncio.Event()
    async with Client(address, jobs) as client, Worker(client) if make is None else make(client):
        begun.set_result(lambda: loop.call_soon_threadsafe(end.set))
        await end.wait()
