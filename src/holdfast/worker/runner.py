"""Runs one attempt: from a claimed job to its outcome, written."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast, get_args

from msgspec.structs import replace

from holdfast.errors import ClaimLost
from holdfast.job import Chain
from holdfast.jobs import Jobs
from holdfast.lifecycle import Outcome, Raised, Released, Settlement, settle
from holdfast.observer import Observers
from holdfast.operations import GetBlockers, LostReason, Settled
from holdfast.record import Record, Status
from holdfast.store import Store
from holdfast.worker.call import AsyncCall, Call, ThreadCall
from holdfast.worker.holdings import Holding, Holdings, ticks
from holdfast.worker.middleware import Middleware, onion
from holdfast.worker.process_call import ProcessCall
from holdfast.worker.processes import Processes
from holdfast.worker.settler import Settler
from holdfast.worker.telling import tell_claimed, tell_end
from holdfast.worker.terms import RunTerms
from holdfast.worker.threads import Threads
from holdfast.worker.work import blocker_outputs, outcome_of

_RELEASED = Released()


class AttemptTimeout(Exception):
    """The attempt took longer than its timeout."""


class LeaseInDanger(Exception):
    """The lease could not be renewed in time, so the attempt was stopped before another worker could take the job."""


class Runner:
    """Runs attempts and sees each to its end: settled, or told that its claim was lost."""

    def __init__(
        self,
        *,
        store: Store,
        jobs: Jobs,
        terms: Mapping[str, RunTerms],
        holdings: Holdings,
        settler: Settler,
        threads: Threads,
        processes: Processes,
        observers: Observers,
        middlewares: tuple[Middleware, ...],
    ) -> None:
        self._store = store
        self._jobs = jobs
        self._terms = terms
        self._holdings = holdings
        self._settler = settler
        self._threads = threads
        self._processes = processes
        self._observers = observers
        self._middlewares = middlewares
        self._bare = frozenset(
            name
            for name, each in terms.items()
            if each.type.is_async and not each.type.takes_attempt and not middlewares
        )
        """Types whose handlers take no attempt, and no middleware sees one: their value is all there is to a call."""
        self._tells_starts = False

    def hold(self, records: Sequence[Record], sent: float) -> list[Holding]:
        """Take note of jobs, claimed by a request sent at that time, so that their leases are renewed from now on."""
        tell_claimed(self._observers, records)
        # Asked once for all of them, and not again as each begins.
        self._tells_starts = self._observers.wants("started")
        now, terms = ticks(), self._terms
        holdings = [Holding(record, terms[record.type], now, sent) for record in records]
        self._holdings.add(holdings)
        return holdings

    def give_back(self, holding: Holding) -> None:
        """Release a job whose handler was not even called."""
        holding.leave()
        self._submit(holding, self._settle(holding, _RELEASED))

    async def run(self, holding: Holding, task: asyncio.Task[None]) -> None:
        """Run the handler in this task, the current one; when this returns its slot is free.

        The claim is held on until the outcome is written.
        """
        if self._tells_starts:
            self._observers.tell("started", holding.record)
        record, terms = holding.record, holding.terms
        call: Call | None = None
        timeout: float | None = None
        timer: asyncio.TimerHandle | None = None
        outcome: Outcome | None = _RELEASED
        try:
            if holding.enter(task):
                timeout = terms.timeout(record)
                if timeout is not None:
                    timer = task.get_loop().call_later(timeout, holding.abort, "timeout")
                if record.type in self._bare:
                    value = await terms.type.call(None, terms.type.arguments(record.input))
                    outcome = outcome_of(value, record, terms.type)
                else:
                    blockers = (await self._blockers(record)) if record.blockers else ()
                    call = self._call(holding, blockers)
                    value = await onion(self._middlewares, call.attempt, call.run)()
                    outcome = call.work.outcome(value)
        except asyncio.CancelledError as error:
            # Unless we did it, the handler awaited something that was cancelled: an error like any other.
            outcome = _RELEASED if holding.signal.aborted else Raised(error)
        except ClaimLost as error:
            holding.signal.fire(cast("LostReason", error.reason))
            outcome = None
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # SystemExit too: a handler does not end its worker
            outcome = Raised(error)
        finally:
            holding.leave()
            if timer is not None:
                timer.cancel()
        if task.cancelling():
            await _take_back_cancels(task)
        if outcome is not None and holding.signal.reason is not None:
            outcome = self._aborted(holding, outcome, timeout)
        settlement = None if outcome is None else self._settle(holding, outcome, call)
        conclude = terms.type.conclude
        if conclude is not None and outcome is not None and settlement is not None and _is_final(settlement):
            settlement = await conclude(record, outcome, settlement)
        if call is not None and call.work.tx is not None:
            await self._end_transaction(holding, call, settlement, call.work.started)
        elif settlement is None:  # the claim is gone, and with it the right to write
            self._lose(holding)
        else:
            self._submit(holding, settlement)

    async def _blockers(self, record: Record) -> tuple[Any, ...]:
        return blocker_outputs(await self._store.perform(GetBlockers(record.id)), self._jobs)

    def _call(self, holding: Holding, blockers: tuple[Any, ...]) -> Call:
        job_type = holding.terms.type
        arguments = job_type.arguments(holding.record.input)
        if job_type.is_async:
            return AsyncCall(
                holding, arguments, store=self._store, jobs=self._jobs, blockers=blockers, middlewares=self._middlewares
            )
        if job_type.executor == "process":
            return ProcessCall(
                holding, store=self._store, jobs=self._jobs, blockers=blockers, middlewares=self._middlewares,
                processes=self._processes,
            )  # fmt: skip
        return ThreadCall(
            holding, arguments, store=self._store, jobs=self._jobs, blockers=blockers, middlewares=self._middlewares,
            threads=self._threads,
        )  # fmt: skip

    def _aborted(self, holding: Holding, outcome: Outcome, timeout: float | None) -> Outcome | None:
        """What an attempt came to whose signal fired meanwhile."""
        match holding.signal.reason:
            case "shutdown":
                return outcome
            case "timeout":
                return Raised(AttemptTimeout(f"the attempt took longer than {timeout:g} s"))
            case "error":
                return Raised(LeaseInDanger("the lease could not be renewed in time"))
            case _:
                return None

    async def _end_transaction(
        self, holding: Holding, call: Call, settlement: Settlement | None, started: list[Chain[Any]]
    ) -> None:
        """Commit the attempt's own transaction with its settlement in it, or roll it back and settle without it."""
        if settlement is None or settlement.status is not Status.COMPLETED:
            try:
                await call.roll_back()
            except Exception as error:  # the transaction ends with its connection
                self._observers.tell("store_error", holding.record, detail=f"rolling back: {error}")
        else:
            try:
                answer = await call.commit(settlement)
            except Exception as error:
                self._settle_in_doubt(holding, settlement, error, started)
            else:
                self._answered(holding, settlement, answer, started=started)
            return
        if settlement is None:
            self._lose(holding)
        else:
            self._submit(holding, settlement)

    def _settle(self, holding: Holding, outcome: Outcome, call: Call | None = None) -> Settlement:
        settlement = settle(holding.record, outcome, holding.terms.retry)
        if call is not None and call.work.keep is not None:
            settlement = replace(settlement, keep=call.work.keep)
        return settlement

    def _submit(self, holding: Holding, settlement: Settlement) -> None:
        self._settler.submit(holding, settlement, self._answered)

    def _settle_in_doubt(
        self, holding: Holding, hoped: Settlement, error: Exception, started: list[Chain[Any]]
    ) -> None:
        """Settle an attempt whose commit broke: nobody knows whether it arrived.

        That it failed, written under the same token, changes nothing after a commit. Where the job turns out to be
        completed, what we hoped for is sent once more, since the store tells whether that is how it was.
        """

        def answered(holding: Holding, failed: Settlement, answer: Settled) -> None:
            if answer.lost == "already_completed":
                self._settler.submit(holding, hoped, partial(self._answered, started=started))
            else:
                self._answered(holding, failed, answer)

        self._settler.submit(holding, self._settle(holding, Raised(error)), answered)

    def _answered(
        self, holding: Holding, settlement: Settlement, answer: Settled, *, started: Sequence[Chain[Any]] = ()
    ) -> None:
        if answer.refused is not None and settlement.status is Status.COMPLETED:
            # It cannot be written as the handler wanted: that is a failed attempt.
            self._submit(holding, self._settle(holding, Raised(answer.refused)))
            return
        self._holdings.remove(holding)
        tell_end(self._observers, holding, settlement, answer, started)

    def _lose(self, holding: Holding) -> None:
        reason = holding.signal.reason
        lost = cast("LostReason", reason) if reason in get_args(LostReason) else "taken_by_another_worker"
        self._holdings.remove(holding)
        tell_end(self._observers, holding, None, Settled(lost=lost))


async def _take_back_cancels(task: asyncio.Task[None]) -> None:
    """The slot goes on. One that was requested and not yet delivered is met here, and ends here."""
    while task.cancelling():
        task.uncancel()
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(0)


def _is_final(settlement: Settlement) -> bool:
    return settlement.status is Status.COMPLETED or settlement.status is Status.FAILED
