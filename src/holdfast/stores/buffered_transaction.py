"""Transactions for stores without transactions: reads run at once, and writes are sent together at the end."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import msgspec

from holdfast.core.clock import Micros, system_clock
from holdfast.core.lifecycle import NewJob, Settlement, create
from holdfast.core.record import ChainRecord, Status
from holdfast.core.replacing import counted_since, may_replace, replaced, replaces
from holdfast.engine import procedures
from holdfast.engine.operations import Complete, Operation, PreviewStart, Settle, Start, Started
from holdfast.engine.store import Store
from holdfast.errors import Conflict

R = TypeVar("R")
S = TypeVar("S", Settlement, Complete)


class _Buffer:
    """The starts of a transaction. They are sent together with its settlement.

    Each start returns at once the result that it would have now. The settlement contains these results, and the store
    refuses it with Conflict if one of them has changed.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.starts: list[NewJob] = []
        self.expected: list[str] = []

    def perform(self, operation: Operation[Any]) -> procedures.Procedure[Any]:
        match operation:
            case Start(jobs=jobs):
                return (yield from self._start(jobs))
            case Settle(settlements=(settlement,)):
                answer = yield Settle((self._with_starts(settlement),))
                self.clear()
                return answer
            case Complete():
                answer = yield self._with_starts(operation)
                self.clear()
                return answer
            case _ if operation.writes and operation.verb not in ("guard", "lock", "save_logs", "save_steps"):
                raise TypeError(f"{operation.verb} cannot be part of a transaction on this store")
            case _:
                return (yield operation)

    def _start(self, jobs: tuple[NewJob, ...]) -> procedures.Procedure[list[Started]]:
        # Send only earlier starts with the same id or key. Otherwise each of thousands of starts would send all others.
        related = tuple(start for start in self.starts if any(_may_match(start, job) for job in jobs))
        found: list[ChainRecord | None] = yield PreviewStart(related + jobs)
        answers: list[Started] = []
        for job, chain in zip(jobs, found[len(related) :], strict=True):
            self.starts.append(job)
            if chain is not None:
                answers.append(Started(self._replaced(chain, job), deduplicated=True))
            else:
                # The time of this process, if necessary: the time of the store is known only after the write.
                record = create(job, self._now())
                answers.append(Started(ChainRecord(record, record), deduplicated=False))
            self.expected.append(answers[-1].chain.first.id)
        return answers

    def _replaced(self, chain: ChainRecord, job: NewJob) -> ChainRecord:
        """The chain as it will be after this start."""
        if not (replaces(job, chain.first.id) and may_replace(chain.first, job)):
            return chain
        now = self._now()
        blocked = Status.BLOCKED if job.after else Status.PENDING
        record = replaced(chain.first, job, now, since=counted_since(chain.first, now), status=blocked)
        return ChainRecord(record, record)

    def _now(self) -> Micros:
        return (self._store.clock or system_clock)()

    def _with_starts(self, settlement: S) -> S:
        return msgspec.structs.replace(settlement, starts=tuple(self.starts), expected=tuple(self.expected))

    def write_rest(self) -> procedures.Procedure[None]:
        """Write the starts that were not part of a settlement."""
        if not self.starts:
            return
        started: list[Started] = yield Start(tuple(self.starts))
        reported = self.expected.copy()
        self.clear()
        if [each.chain.first.id for each in started] != reported:
            raise Conflict("a key was started or finished by another caller at the same time")

    def clear(self) -> None:
        self.starts.clear()
        self.expected.clear()


class BufferedTransaction:
    """A buffered transaction for async code."""

    native: Any = None

    def __init__(self, store: Store) -> None:
        self._store = store
        self._buffer = _Buffer(store)

    async def perform(self, operation: Operation[R], /) -> R:
        return cast(R, await procedures.run(self._store.perform, self._buffer.perform(operation)))

    async def commit(self) -> None:
        await procedures.run(self._store.perform, self._buffer.write_rest())

    async def rollback(self) -> None:
        self._buffer.clear()


class BufferedSyncTransaction:
    """A buffered transaction for blocking code."""

    native: Any = None

    def __init__(self, store: Store) -> None:
        self._store = store
        self._buffer = _Buffer(store)

    def perform(self, operation: Operation[R], /) -> R:
        return cast(R, procedures.run_sync(self._store.perform_sync, self._buffer.perform(operation)))

    def commit(self) -> None:
        procedures.run_sync(self._store.perform_sync, self._buffer.write_rest())

    def rollback(self) -> None:
        self._buffer.clear()

    def abandon(self) -> None:
        """Nothing to do: the store knows nothing of this transaction."""


def _may_match(one: NewJob, other: NewJob) -> bool:
    return one.id == other.id or (one.key is not None and (one.type, one.key) == (other.type, other.key))
