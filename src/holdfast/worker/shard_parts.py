"""The parts of a worker that exist once per shard: a shard that does not answer does not delay the others.

A worker on a store without shards uses the parts directly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from holdfast.core.lifecycle import Settlement
from holdfast.core.record import Claim
from holdfast.core.steps import Checkpoint, StepRow
from holdfast.engine.store import Store
from holdfast.worker.abort_signal import Signal
from holdfast.worker.held_claims import HeldClaim, HeldClaims
from holdfast.worker.settler import Answered, Settler
from holdfast.worker.steps.step_store import StepStore


class ShardClaims(HeldClaims):
    """The claims of a worker on one shard."""

    def __init__(self, held_claims: HeldClaims, store: Store, shard: Store) -> None:
        self._held_claims = held_claims
        self._store = store
        self._shard = shard

    def add(self, held_claims: Sequence[HeldClaim]) -> None:
        self._held_claims.add(held_claims)

    def remove(self, held_claim: HeldClaim) -> None:
        self._held_claims.remove(held_claim)

    def get(self, job_id: str) -> HeldClaim | None:
        return self._held_claims.get(job_id)

    def all(self) -> list[HeldClaim]:
        return [each for each in self._held_claims.all() if self._store.shard_of(each.record.id) is self._shard]

    def __len__(self) -> int:
        return len(self.all())


class ShardSettler(Settler):
    """Writes the settlements of each shard with a separate settler."""

    def __init__(self, store: Store, make: Callable[[Store], Settler]) -> None:
        self._store = store
        self._settlers: Mapping[Store, Settler] = {shard: make(shard) for shard in store.shards}

    def submit(
        self,
        held_claim: HeldClaim,
        settlement: Settlement,
        answered: Answered,
        log: bytes | None = None,
        *,
        later: bool = False,
    ) -> None:
        settler = self._settlers[self._store.shard_of(settlement.claim.job_id)]
        settler.submit(held_claim, settlement, answered, log, later=later)

    async def flush(self) -> None:
        await asyncio.gather(*(settler.flush() for settler in self._settlers.values()))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for settler in self._settlers.values():
                group.create_task(settler.run())


class ShardSteps(StepStore):
    """Reads and writes the steps of each shard with a separate step store."""

    def __init__(self, store: Store, make: Callable[[Store], StepStore]) -> None:
        self.store = store
        self.types = set()
        self._steps: Mapping[Store, StepStore] = {shard: make(shard) for shard in store.shards}

    def close(self) -> None:
        for steps in self._steps.values():
            steps.close()

    def read(self, claim: Claim, signal: Signal) -> asyncio.Future[list[StepRow]]:
        return self._of(claim).read(claim, signal)

    def loaded(
        self, read: asyncio.Future[list[StepRow]], claim: Claim, signal: Signal
    ) -> Coroutine[Any, Any, list[StepRow]]:
        return self._of(claim).loaded(read, claim, signal)

    async def save(self, checkpoint: Checkpoint, signal: Signal) -> None:
        await self._of(checkpoint.claim).save(checkpoint, signal)

    async def message(self, chain_id: str, name: str, claim: Claim, signal: Signal) -> bytes | None:
        return await self._of(claim).message(chain_id, name, claim, signal)

    def _of(self, claim: Claim) -> StepStore:
        return self._steps[self.store.shard_of(claim.job_id)]


def claims_on(shard: Store, store: Store, held_claims: HeldClaims) -> HeldClaims:
    """The claims of a worker on jobs of this shard."""
    return ShardClaims(held_claims, store, shard) if store.sharded else held_claims


def settler_of(store: Store, make: Callable[[Store], Settler]) -> Settler:
    """The settler of a worker: one, or one per shard."""
    return ShardSettler(store, make) if store.sharded else make(store)


def steps_of_worker(store: Store, make: Callable[[Store], StepStore]) -> StepStore:
    """The step store of a worker: one, or one per shard."""
    return ShardSteps(store, make) if store.sharded else make(store)
