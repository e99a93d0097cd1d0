"""A worker process of a run."""

from __future__ import annotations

import os
from pathlib import Path

from torture.history import History
from torture.settings import Settings


async def main(settings: Settings) -> None:
    from holdfast import Client, Event, Worker
    from holdfast.stores.address import open_store
    from torture.behaviour import Recorder
    from torture.elastic import elastic
    from torture.failpoints import Watch
    from torture.jobs import approval, jobs
    from torture.lossy_wakeups import LossyWakeups
    from torture.mutant_loader import changed_store
    from torture.sampling import sampling
    from torture.watched_store import WatchedStore, opened

    history = Recorder.history = History(Path(settings.folder), settings.name)

    def show(event: Event) -> None:
        if event.kind == "worker_started":  # from here on the worker handles signals
            (Path(settings.folder) / f"{settings.name}.ready").touch()
        if event.kind == "started" and worker.busy > settings.concurrency:
            history.note("too many handlers", running=worker.busy)
        if event.kind in ("lost", "reaped", "store_error", "worker_stopping"):
            history.note("event", kind=event.kind, job=event.job_id, attempt=event.attempt, detail=event.detail)

    inner = changed_store(open_store(settings.url), settings.mutant)
    lossy: list[LossyWakeups] = []
    if settings.drop or settings.double:
        lossy += [LossyWakeups(inner.wakeups, drop=settings.drop, double=settings.double, seed=settings.seed)]
    watch = Watch(history, settings.failpoints, Path(settings.folder) / f"{settings.name}.met")
    store = WatchedStore(inner, watch, *lossy)
    await opened(store)
    client = Client(store, jobs, observers=[show])
    worker = Worker(
        client,
        worker_id=settings.name,
        concurrency=settings.concurrency,
        lease=settings.lease,
        poll_interval=settings.poll,
        grace=3,
        types=[each for each in jobs if each not in (approval, elastic)],
    )
    history.note("worker", pid=os.getpid(), skew=settings.skew, drop=settings.drop, double=settings.double)
    async with sampling(history, watch, *lossy):
        try:
            await worker.run()
        finally:
            await store.close()
