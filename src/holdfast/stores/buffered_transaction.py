"""Transactions for stores that have none of their own: reads look at once, writes wait and go out as one step."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import msgspec

from holdfast.core.clock import system_clock
from holdfast.core.lifecycle import NewJob, Settlement, create
from holdfast.core.record import ChainRecord
from holdfast.engine import procedures
from holdfast.engine.operations import Complete, Operation, Preview, Settle, Start, Started
from holdfast.engine.store import Store
from holdfast.errors import Conflict

R = TypeVar("R")
S = TypeVar("S", Settlement, Complete)


class _Buffer:
    """The starts of a transaction, held back until the settlement that carries them.

    Each start is answered at once with what it would do now. The answers travel along, and the store refuses the
    whole with Conflict if one of them is no longer true by then.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.starts: list[NewJob] = []
        self.expected: list[str] = []

    def carry(self, operation: Operation[Any]) -> procedures.Procedure[Any]:
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
            case _ if operation.writes and operation.verb not in ("guard", "lock"):
                raise TypeError(f"{operation.verb} cannot be part of a transaction on this store")
            case _:
                return (yield operation)

    def _start(self, jobs: tuple[NewJob, ...]) -> procedures.Procedure[list[Started]]:
        # Only what may be the same chain goes along, lest a fan-out of thousands send all of them each time.
        alike = tuple(start for start in self.starts if any(_alike(start, job) for job in jobs))
        found: list[ChainRecord | None] = yield Preview(alike + jobs)
        answers: list[Started] = []
        for job, chain in zip(jobs, found[len(alike) :], strict=True):
            self.starts.append(job)
            if chain is not None:
                answers.append(Started(chain, deduplicated=True))
            else:
                # By our clock, if need be: the store's own time is known when it is written.
                record = create(job, (self._store.clock or system_clock)())
                answers.append(Started(ChainRecord(record, record), deduplicated=False))
            self.expected.append(answers[-1].chain.first.id)
        return answers

    def _with_starts(self, carrier: S) -> S:
        return msgspec.structs.replace(carrier, starts=tuple(self.starts), expected=tuple(self.expected))

    def rest(self) -> procedures.Procedure[None]:
        """Write the starts that no settlement carried."""
        if not self.starts:
            return
        started: list[Started] = yield Start(tuple(self.starts))
        reported = self.expected.copy()
        self.clear()
        if [each.chain.first.id for each in started] != reported:
            raise Conflict("a key was started or finished by another at the same time")

    def clear(self) -> None:
        self.starts.clear()
        self.expected.clear()


class DeferredTransaction:
    """A buffered transaction for async code."""

    native = None

    def __init__(self, store: Store) -> None:
        self._store = store
        self._buffer = _Buffer(store)

    async def perform(self, operation: Operation[R], /) -> R:
        return cast(R, await procedures.run(self._store.perform, self._buffer.carry(operation)))

    async def commit(self) -> None:
        await procedures.run(self._store.perform, self._buffer.rest())

    async def rollback(self) -> None:
        self._buffer.clear()


class DeferredSyncTransaction:
    """A buffered transaction for blocking code."""

    native = None

    def __init__(self, store: Store) -> None:
        self._store = store
        self._buffer = _Buffer(store)

    def perform(self, operation: Operation[R], /) -> R:
        return cast(R, procedures.run_sync(self._store.perform_sync, self._buffer.carry(operation)))

    def commit(self) -> None:
        procedures.run_sync(self._store.perform_sync, self._buffer.rest())

    def rollback(self) -> None:
        self._buffer.clear()

    def abandon(self) -> None:
        """Nothing of it is in the store, and nothing is held there."""


def _alike(one: NewJob, other: NewJob) -> bool:
    return one.id == other.id or (one.key is not None and (one.type, one.key) == (other.type, other.key))
