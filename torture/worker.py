"""A worker process of a run."""

from __future__ import annotations

import asyncio
import os
import resource
import threading
from pathlib import Path

from torture.history import History
from torture.settings import Settings

SAMPLE_EVERY = 2.0


async def main(settings: Settings) -> None:
    from holdfast import Client, Event, Worker
    from holdfast.stores.address import open_store
    from torture.jobs import Stage, jobs
    from torture.mutants import changed_store
    from torture.watched import LossyWakeups, Watch, WatchedStore, opened

    history = Stage.history = History(Path(settings.folder), settings.name)

    def show(event: Event) -> None:
        if event.kind == "worker_started":  # from here on it hears signals
            (Path(settings.folder) / f"{settings.name}.ready").touch()
        if event.kind in ("lost", "reaped", "store_error", "worker_stopping"):
            history.note("event", kind=event.kind, job=event.job_id, attempt=event.attempt, detail=event.detail)

    inner = changed_store(open_store(settings.url), settings.mutant)
    lossy = None
    if settings.drop or settings.double:
        lossy = LossyWakeups(inner.wakeups, drop=settings.drop, double=settings.double, seed=settings.seed)
    store = WatchedStore(inner, Watch(history, settings.failpoints), lossy)
    await opened(store)
    client = Client(store, jobs, observers=[show])
    worker = Worker(
        client,
        worker_id=settings.name,
        concurrency=settings.concurrency,
        lease=settings.lease,
        poll_interval=settings.poll,
        grace=3,
    )
    history.note("worker", pid=os.getpid(), skew=settings.skew, drop=settings.drop, double=settings.double)
    sampling = asyncio.create_task(_sample(history, lossy))
    try:
        await worker.run()
    finally:
        sampling.cancel()
        _note_hints(history, lossy)
        await store.close()


async def _sample(history: History, lossy: object) -> None:
    while True:
        await asyncio.sleep(SAMPLE_EVERY)
        history.note(
            "sample",
            files=len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - a folder of the kernel's
            threads=threading.active_count(),
            tasks=len(asyncio.all_tasks()),
            memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        )
        _note_hints(history, lossy)


def _note_hints(history: History, lossy: object) -> None:
    from torture.watched import LossyWakeups

    if isinstance(lossy, LossyWakeups):
        history.note("hints", dropped=lossy.dropped, doubled=lossy.doubled)
