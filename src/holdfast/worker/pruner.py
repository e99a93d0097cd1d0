"""Deletes finished chains past their keep time, in batches."""

from __future__ import annotations

import asyncio
import random

from holdfast.engine.observers import Observers, log
from holdfast.engine.operations import Prune
from holdfast.engine.store import Store
from holdfast.errors import HoldfastError

EVERY = 60.0
BATCH = 500


class Pruner:
    """Prunes about once a minute. Every worker has a pruner; concurrent pruners never delete a chain twice."""

    def __init__(self, store: Store, observers: Observers, worker_id: str) -> None:
        self._store = store
        self._observers = observers
        self._worker_id = worker_id

    async def run(self) -> None:
        """Prune until cancelled."""
        while True:
            await asyncio.sleep(EVERY * random.uniform(0.5, 1.5))
            try:
                more = True
                while more:
                    pruned = await self._store.perform(Prune(BATCH))
                    more = len(pruned) == BATCH
            except Exception as error:
                if not isinstance(error, HoldfastError):
                    log.exception(
                        "worker %s could not prune: the store raised an error that it did not translate",
                        self._worker_id,
                    )
                self._observers.emit("store_error", worker=self._worker_id, detail=f"pruning: {error}", cause=error)
