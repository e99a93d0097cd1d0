"""Change chains and jobs as an operator: cancel, retry, run now, delete."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar, overload

from holdfast.client.capability import Capability, SyncCapability
from holdfast.client.client_calls import ClientCalls
from holdfast.client.listing import all_chains
from holdfast.client.references import Names, chain_id, check_key, current_job_id, type_names
from holdfast.core.failure import write as write_error
from holdfast.core.job import Chain, Job
from holdfast.core.record import UNFINISHED, ChainRecord, Status
from holdfast.engine.events import Event
from holdfast.engine.observers import Observers, event_about
from holdfast.engine.operations import CancelChains, Delete, Filter, GetChains, RetryJobs, RunNow
from holdfast.engine.procedures import Procedure
from holdfast.errors import ChainNotFound

T = TypeVar("T")

_NO_REASON = "cancelled by a client"


class OperatingMethods(Capability):
    """Operating, async. `reason` is shown in the audit."""

    @overload
    async def cancel(
        self, chain: Chain[Any] | Job | str, *, reason: str | None = None, tx: Any = None
    ) -> Chain[Any]: ...

    @overload
    async def cancel(
        self, *, key: str, type: Names | None = None, reason: str | None = None, tx: Any = None
    ) -> list[Chain[Any]]: ...

    async def cancel(
        self,
        chain: Chain[Any] | Job | str | None = None,
        *,
        key: str | None = None,
        type: Names | None = None,
        reason: str | None = None,
        tx: Any = None,
    ) -> Chain[Any] | list[Chain[Any]]:
        """Cancel a chain at its current job and return the chain. A finished chain does not change.

        A job that has not started will not start. A running attempt is aborted and can write nothing more. With `key`,
        cancel every unfinished chain that has this key when the call begins, of this type or of any, and return these
        chains. The type is that of the first job, to which the key belongs.
        """
        if key is not None:
            _check_only_key(chain)
            return await self._run(_cancel_key(self._calls, key, type_names(type), reason), tx, _all_cancelled)
        cancelled, _ = await self._run(_cancel(self._calls, _one_chain(chain, type), reason), tx, _cancelled)
        return cancelled

    async def retry(
        self, job: Job | Chain[Any] | str, *, from_step: str | None = None, reason: str | None = None, tx: Any = None
    ) -> Job:
        """Make a failed or cancelled job pending again, with all of its attempts.

        Its finished steps are kept. With `from_step`, that step and the later ones run again, and the messages that
        they received are deleted. Raises StepNotFound if the job has no such step.
        """
        return await self._run(_retry(self._calls, job, from_step, reason), tx, _retried)

    async def run_now(self, job: Job | Chain[Any] | str, *, reason: str | None = None, tx: Any = None) -> Job:
        """Make a scheduled job due at once."""
        return await self._run(_run_now(self._calls, job, reason), tx, _made_due)

    async def delete(
        self,
        chains: Iterable[Chain[Any] | str] | Chain[Any] | str,
        *,
        cascade: bool = False,
        reason: str | None = None,
        tx: Any = None,
    ) -> list[str]:
        """Delete chains atomically and return the ids that existed. `cascade` deletes their blockers too."""
        return await self._run(_delete(self._calls, chains, cascade, reason), tx, _deleted)


class SyncOperatingMethods(SyncCapability):
    """Operating, blocking. `reason` is shown in the audit."""

    @overload
    def cancel(self, chain: Chain[Any] | Job | str, *, reason: str | None = None, tx: Any = None) -> Chain[Any]: ...

    @overload
    def cancel(
        self, *, key: str, type: Names | None = None, reason: str | None = None, tx: Any = None
    ) -> list[Chain[Any]]: ...

    def cancel(
        self,
        chain: Chain[Any] | Job | str | None = None,
        *,
        key: str | None = None,
        type: Names | None = None,
        reason: str | None = None,
        tx: Any = None,
    ) -> Chain[Any] | list[Chain[Any]]:
        """Cancel a chain at its current job and return the chain. A finished chain does not change.

        A job that has not started will not start. A running attempt is aborted and can write nothing more. With `key`,
        cancel every unfinished chain that has this key when the call begins, of this type or of any, and return these
        chains. The type is that of the first job, to which the key belongs.
        """
        if key is not None:
            _check_only_key(chain)
            return self._run(_cancel_key(self._calls, key, type_names(type), reason), tx, _all_cancelled)
        cancelled, _ = self._run(_cancel(self._calls, _one_chain(chain, type), reason), tx, _cancelled)
        return cancelled

    def retry(
        self, job: Job | Chain[Any] | str, *, from_step: str | None = None, reason: str | None = None, tx: Any = None
    ) -> Job:
        """Make a failed or cancelled job pending again, with all of its attempts.

        Its finished steps are kept. With `from_step`, that step and the later ones run again, and the messages that
        they received are deleted. Raises StepNotFound if the job has no such step.
        """
        return self._run(_retry(self._calls, job, from_step, reason), tx, _retried)

    def run_now(self, job: Job | Chain[Any] | str, *, reason: str | None = None, tx: Any = None) -> Job:
        """Make a scheduled job due at once."""
        return self._run(_run_now(self._calls, job, reason), tx, _made_due)

    def delete(
        self,
        chains: Iterable[Chain[Any] | str] | Chain[Any] | str,
        *,
        cascade: bool = False,
        reason: str | None = None,
        tx: Any = None,
    ) -> list[str]:
        """Delete chains atomically and return the ids that existed. `cascade` deletes their blockers too."""
        return self._run(_delete(self._calls, chains, cascade, reason), tx, _deleted)


def _check_only_key(chain: object) -> None:
    if chain is not None:
        raise TypeError("give a chain or a key, not both")


def _one_chain(chain: Chain[Any] | Job | str | None, type: Names | None) -> str:
    if type is not None:
        raise TypeError("type= belongs to key=, and a chain has its type already")
    if chain is None:
        raise TypeError("a chain is given as a Chain, a Job of it, or its id, not as NoneType; or give key=")
    return chain_id(chain)


def _cancel(calls: ClientCalls, chain_id: str, reason: str | None) -> Procedure[tuple[Chain[Any], bool]]:
    """The chain after the operation, and whether this call cancelled it."""
    (before,) = yield GetChains((chain_id,))
    (record,) = yield CancelChains((chain_id,), _error(reason), audit=calls.audit(reason))
    was_open = before is not None and not before.last.status.finished
    return calls.chain(record), was_open and record.last.status is Status.CANCELLED


def _cancel_key(
    calls: ClientCalls, key: str, types: tuple[str, ...], reason: str | None
) -> Procedure[list[Chain[Any]]]:
    """The chains that were cancelled, newest first."""
    shown = Filter(statuses=tuple(sorted(UNFINISHED)), key=check_key(key), chain_types=types)
    while True:
        found: list[ChainRecord] = yield from all_chains(shown)
        if not found:
            return []
        ids = tuple(chain.first.id for chain in found)
        try:
            records: list[ChainRecord] = yield CancelChains(ids, _error(reason), audit=calls.audit(reason))
        except ChainNotFound:  # deleted since it was listed
            continue
        return [calls.chain(record) for record in records if record.last.status is Status.CANCELLED]


def _retry(
    calls: ClientCalls, subject: Job | Chain[Any] | str, from_step: str | None, reason: str | None
) -> Procedure[Job]:
    current = yield from current_job_id(subject)
    (record,) = yield RetryJobs((current,), audit=calls.audit(reason), from_step=from_step)
    return calls.job(record)


def _run_now(calls: ClientCalls, subject: Job | Chain[Any] | str, reason: str | None) -> Procedure[Job]:
    current = yield from current_job_id(subject)
    (record,) = yield RunNow((current,), audit=calls.audit(reason))
    return calls.job(record)


def _delete(
    calls: ClientCalls, chains: Iterable[Chain[Any] | str] | Chain[Any] | str, cascade: bool, reason: str | None
) -> Procedure[list[str]]:
    if isinstance(chains, str | Chain):
        chains = [chains]
    ids = tuple(chain_id(chain) for chain in chains)
    deleted: list[str] = yield Delete(ids, cascade, audit=calls.audit(reason))
    return deleted


def _error(reason: str | None) -> bytes:
    return write_error("Cancelled", reason or _NO_REASON)


def _cancelled(observers: Observers, answer: tuple[Chain[Any], bool]) -> list[Event]:
    chain, changed = answer
    return _all_cancelled(observers, [chain] if changed else [])


def _all_cancelled(observers: Observers, chains: Iterable[Chain[Any]]) -> list[Event]:
    if not observers.wants("cancelled"):
        return []
    return [event_about("cancelled", chain.record.last) for chain in chains]


def _retried(observers: Observers, job: Job) -> list[Event]:
    return [event_about("retried", job.record)] if observers.wants("retried") else []


def _made_due(observers: Observers, job: Job) -> list[Event]:
    return [event_about("made_due", job.record)] if observers.wants("made_due") else []


def _deleted(observers: Observers, chain_ids: Iterable[str]) -> list[Event]:
    return [event_about("deleted", chain_id=each) for each in chain_ids] if observers.wants("deleted") else []
