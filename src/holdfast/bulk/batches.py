"""Change some members of a bulk action: check the state of each again, change it, or report why it was skipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.bulk.actions import refusal
from holdfast.bulk.records import BulkRequest, Skip
from holdfast.core.failure import write as write_error
from holdfast.core.record import ChainRecord, Status
from holdfast.engine.operations import (
    Audit,
    CancelChains,
    Delete,
    Filter,
    GetAudit,
    GetChains,
    ListJobs,
    Pause,
    RetryJobs,
    RunNow,
)
from holdfast.engine.store import Store
from holdfast.errors import HoldfastError, NotPermitted, StoreUnavailable

_AUDIT_ROWS: Final = 10_000
_JOBS_READ: Final = 1000


class Batch:
    """Some members of one bulk action. `id` is the id of its chain, which every entry of the audit names.

    `again`: an earlier attempt may have changed some of them already. The audit then says which, because a store
    writes an entry atomically with the change.
    """

    def __init__(self, store: Store, request: BulkRequest, *, id: str, again: bool) -> None:
        self._store = store
        self._request = request
        self._again = again
        self._marker = f"bulk action {id}"
        reason = self._marker if request.reason is None else f"{self._marker}: {request.reason}"
        self._audit = Audit(request.user, reason[:1000])
        self._done = 0
        self._skips: list[Skip] = []

    async def change(self, members: Sequence[tuple[str, Status]]) -> tuple[int, list[Skip]]:
        """How many members were changed, and the others. An outage of the store is raised."""
        ids = [id for id, _ in members]
        changed = await self._changed_before(ids) if self._again else set[str]()
        self._done += len(changed)
        rest = [(id, status) for id, status in members if id not in changed]
        if self._request.action == "pause":
            await self._pause([id for id, _ in rest])
        else:
            await self._change_chains(rest)
        return self._done, self._skips

    async def _changed_before(self, ids: Sequence[str]) -> set[str]:
        rows = await self._store.perform(GetAudit(_AUDIT_ROWS, tuple(ids)))
        ours = [row for row in rows if row.reason is not None and row.reason.startswith(self._marker)]
        return {row.chain_id or row.target for row in ours}.intersection(ids)

    async def _pause(self, types: Sequence[str]) -> None:
        allowed = self._request.types
        for type in types:
            if allowed is not None and type not in allowed:
                self._skips.append(Skip(type, "not permitted"))
            else:
                await self._store.perform(Pause((type,), audit=self._audit))
                self._done += 1

    async def _change_chains(self, members: Sequence[tuple[str, Status]]) -> None:
        chains = await self._store.perform(GetChains(tuple(id for id, _ in members)))
        fitting: list[ChainRecord] = []
        for (id, chosen_as), chain in zip(members, chains, strict=True):
            if chain is None:
                self._skips.append(Skip(id, "it was deleted"))
                continue
            why = refusal(self._request.action, chain, chosen_as=chosen_as, types=self._request.types)
            why = why or await self._hidden(chain)
            if why is None:
                fitting.append(chain)
            else:
                self._skips.append(Skip(id, why))
        if fitting:
            await self._divide(fitting)

    async def _hidden(self, chain: ChainRecord) -> str | None:
        """Why the whole chain must not be changed: between its first and last job there are jobs of other types."""
        allowed = self._request.types
        if allowed is None or chain.last.index < 2 or self._request.action not in ("delete", "cancel"):
            return None
        before: int | None = None
        while True:
            jobs = await self._store.perform(ListJobs(Filter(chain_id=chain.first.id), _JOBS_READ, before))
            if any(job.type not in allowed for job in jobs):
                return "it has jobs of other types"
            before = jobs.next_before
            if before is None:
                return None

    async def _divide(self, chains: Sequence[ChainRecord]) -> None:
        """Change chains at once. If that is refused, change each half, so that only the refused chains are skipped."""
        try:
            await self._change(chains)
        except (StoreUnavailable, NotPermitted):
            raise
        except HoldfastError as error:
            if len(chains) == 1:
                self._skips.append(Skip(chains[0].first.id, str(error)))
                return
            middle = len(chains) // 2
            await self._divide(chains[:middle])
            await self._divide(chains[middle:])

    async def _change(self, chains: Sequence[ChainRecord]) -> None:
        chain_ids = tuple(chain.first.id for chain in chains)
        job_ids = tuple(chain.last.id for chain in chains)
        changed = len(chains)
        match self._request.action:
            case "retry":
                await self._store.perform(RetryJobs(job_ids, audit=self._audit))
            case "run_now":
                await self._store.perform(RunNow(job_ids, audit=self._audit))
            case "delete":
                deleted = await self._store.perform(Delete(chain_ids, audit=self._audit))
                self._skips += [Skip(id, "it was deleted") for id in chain_ids if id not in deleted]
                changed = len(set(deleted).intersection(chain_ids))
            case _:
                error = write_error("Cancelled", self._request.reason or "cancelled by a bulk action")
                after = await self._store.perform(CancelChains(chain_ids, error, audit=self._audit))
                finished = [chain for chain in after if chain.last.status is not Status.CANCELLED]
                self._skips += [Skip(chain.first.id, f"it is now {chain.last.status}") for chain in finished]
                changed -= len(finished)
        self._done += changed
