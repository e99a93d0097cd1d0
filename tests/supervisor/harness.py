"""The harness of supervisor tests: a shared store, a supervisor in this process, and a recorder of its events."""

from __future__ import annotations

import asyncio
import os
import select
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from holdfast import Client, LiveWorker
from holdfast.supervisor import Group, Supervisor
from tests.servers.postgres_schemas import fresh_address
from tests.servers.redis import shared_redis
from tests.supervisor.work import jobs
from tests.worker.harness import Recorder

T = TypeVar("T")

TIMEOUT = 60.0
APP = "tests.supervisor.work:jobs"


ADDRESSES: dict[str, Callable[[Path], str]] = {
    "sqlite": lambda folder: f"sqlite:///{folder}/jobs.db",
    "postgres": lambda folder: fresh_address(),
    "redis": lambda folder: shared_redis().address(),
}
"""The stores that processes can share: an address of each with nothing in it."""


class ProcessRecorder(Recorder):
    """Waits longer, because processes start slowly on a busy machine."""

    async def until(self, condition: Callable[[], T]) -> T:
        async with asyncio.timeout(TIMEOUT):
            while True:
                with suppress(TimeoutError):
                    return await super().until(condition)


class Harness:
    """A store's address, a client on it, and gates that hold jobs until they are opened."""

    def __init__(self, folder: Path, url: str | None = None, *, shards: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.url = url or ADDRESSES["sqlite"](folder)
        self._store = shards or self.url
        self.client = Client(self._store, jobs)

    @asynccontextmanager
    async def supervised(
        self, *groups: Group, app: str = APP, clean: bool = True, **options: Any
    ) -> AsyncGenerator[tuple[Supervisor, Recorder]]:
        """A running supervisor. It is stopped at the end. `clean`: none of its processes had to be killed then."""
        recorder = ProcessRecorder()
        supervisor = Supervisor(self._store, app, groups=groups or (QUICK,), observers=[recorder], **options)
        running = asyncio.create_task(supervisor.run())
        try:
            yield supervisor, recorder
        finally:
            supervisor.stop()
            async with asyncio.timeout(TIMEOUT):
                await running
        assert supervisor.clean is clean

    async def listed_worker(self, pid: int) -> LiveWorker:
        """The worker of a process. Its row is written beside its first claims, so its first job may begin earlier."""
        async with asyncio.timeout(TIMEOUT):
            while True:
                for worker in await self.client.workers():
                    if worker.pid == pid:
                        return worker
                await asyncio.sleep(0.01)

    def gate(self, name: str) -> tuple[Path, Path]:
        """A pair of fifos for `hold`: the first is readable when it runs, a write to the second ends it."""
        begun, gate = self.folder / f"{name}.begun", self.folder / f"{name}.gate"
        os.mkfifo(begun)
        os.mkfifo(gate)
        return begun, gate

    def barrier(self) -> Path:
        """A closed gate for `queue_up`."""
        gate = self.folder / "barrier"
        os.mkfifo(gate)
        return gate


QUICK = Group(default_count=1, max_count=3, concurrency=2, scale_interval=0.1, scale_down_after=0.5, grace=50, lease=2)


async def read(path: Path) -> str:
    """What another process writes into a fifo."""
    return await in_thread(path.read_text)


async def write(path: Path) -> None:
    """Open a gate."""
    await in_thread(lambda: path.write_text("open"))


def lift(barrier: Path) -> int:
    """Let all processes pass a barrier, now and later, until the returned descriptor is closed."""
    return os.open(barrier, os.O_RDWR)


def most_at_once(kinds: Iterable[str]) -> int:
    """The most worker processes that there were at a time, by the kinds of a supervisor's events, in order."""
    now = most = 0
    for kind in kinds:
        now += {"process_started": 1, "process_ended": -1, "process_died": -1}.get(kind, 0)
        most = max(most, now)
    return most


async def in_thread(function: Callable[[], T]) -> T:
    """The result of a function that may wait for another process. It runs in a thread that is not joined."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        value = function()
        with suppress(RuntimeError):  # the test is over
            loop.call_soon_threadsafe(lambda: None if answer.done() else answer.set_result(value))

    threading.Thread(target=run, daemon=True).start()
    async with asyncio.timeout(TIMEOUT):
        return await answer


def is_over(pid: int) -> bool:
    """Whether the process has ended, or is about to: its pipes are closed some moments before it is gone."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], TIMEOUT)[0])
    finally:
        os.close(descriptor)


async def ready(supervisor: Supervisor, recorder: Recorder) -> None:
    """Wait until every process that should be there takes jobs."""
    async with asyncio.timeout(TIMEOUT):
        await recorder.receive("process_ready", times=len(recorder.find("process_started")) or 1)
