"""Runs one attempt: from a claimed job to its outcome, written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, cast, get_args

from holdfast.clock import SECOND
from holdfast.errors import ClaimLost, HoldfastError
from holdfast.job import Chain, Record, Status, read_error
from holdfast.jobs import Jobs
from holdfast.lifecycle import Outcome, Raised, Released, Settlement, settle
from holdfast.observer import Observers
from holdfast.operations import GetBlockers, LostReason, Settled
from holdfast.store import Store
from holdfast.worker.call import AsyncCall, Call, ThreadCall
from holdfast.worker.holdings import Holding, Holdings, ticks
from holdfast.worker.middleware import Middleware, onion
from holdfast.worker.settler import Settler
from holdfast.worker.terms import Terms
from holdfast.worker.threads import Threads
from holdfast.worker.work import blocker_outputs


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
        terms: Terms,
        holdings: Holdings,
        settler: Settler,
        threads: Threads,
        observers: Observers,
        middlewares: tuple[Middleware, ...],
    ) -> None:
        self._store = store
        self._jobs = jobs
        self._terms = terms
        self._holdings = holdings
        self._settler = settler
        self._threads = threads
        self._observers = observers
        self._middlewares = middlewares

    def hold(self, record: Record) -> Holding:
        """Take note of a claimed job, so that its lease is renewed from now on."""
        job_type = self._jobs[record.type]
        holding = Holding(record, self._terms.lease(job_type), job_type)
        self._holdings.add(holding)
        return holding

    async def run(self, holding: Holding, settled: Callable[[], None]) -> None:
        """Run the handler; when this returns its slot is free. `settled` is called when the outcome is written."""
        self._observers.tell("started", holding.record)
        ending = _Ending(holding, ticks(), settled)
        call: Call | None = None
        try:
            call = await self._prepare(holding)
            outcome = await self._outcome(holding, call)
        except Exception as error:
            outcome = Raised(error)
        finally:
            holding.ended = True
        if call is not None and call.work.started:
            ending.started = call.work.started
        if outcome is None:  # the claim is gone, and with it the right to write
            await self._roll_back(call)
            self._finish(ending, None, Settled(lost=_lost(holding)))
            return
        settlement: Settlement | None = self._settle(holding.record, outcome)
        if call is not None and call.work.tx is not None:
            settlement = await self._commit(call, self._settle(holding.record, outcome), ending)
        if settlement is not None:
            self._settler.submit(settlement, partial(self._answered, ending, settlement))

    async def _prepare(self, holding: Holding) -> Call:
        record, job_type = holding.record, holding.type
        arguments = job_type.arguments(record.input)
        blockers: tuple[Any, ...] = ()
        if record.blockers:
            blockers = blocker_outputs(await self._store.perform(GetBlockers(record.id)), self._jobs)
        if job_type.is_async:
            return AsyncCall(
                holding, job_type, arguments, store=self._store, jobs=self._jobs, blockers=blockers,
                middlewares=self._middlewares,
            )  # fmt: skip
        return ThreadCall(
            holding, job_type, arguments, store=self._store, jobs=self._jobs, blockers=blockers,
            middlewares=self._middlewares, threads=self._threads,
        )  # fmt: skip

    async def _outcome(self, holding: Holding, call: Call) -> Outcome | None:
        """What the attempt came to; None if its claim was lost on the way."""
        task = asyncio.current_task()
        assert task is not None
        loop = task.get_loop()

        def interrupt() -> None:
            # Looked at on the loop, where the handler ends: one that is done is not cancelled any more.
            if not holding.ended:
                task.cancel()

        holding.signal.on_abort(partial(_call_soon, loop, interrupt))
        timeout = self._terms.timeout(holding.type, holding.record)
        timer = None if timeout is None else loop.call_later(timeout, holding.abort, "timeout")
        outcome: Outcome
        try:
            run = onion(self._middlewares, call.attempt, call.run) if self._middlewares else call.run
            outcome = call.work.outcome(await run())
        except asyncio.CancelledError:
            if not holding.signal.aborted:
                holding.signal.fire("shutdown")
            outcome = Released()
        except ClaimLost:
            return None
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # SystemExit too: a handler does not end its worker
            outcome = Raised(error)
        finally:
            holding.ended = True
            if timer is not None:
                timer.cancel()
            while task.cancelling():
                task.uncancel()
        match holding.signal.reason:
            case None | "shutdown":
                return outcome
            case "timeout":
                return Raised(AttemptTimeout(f"the attempt took longer than {timeout:g} s"))
            case "error":
                return Raised(LeaseInDanger("the lease could not be renewed in time"))
            case _:
                return None

    def _settle(self, record: Record, outcome: Outcome) -> Settlement:
        return settle(record, outcome, self._terms.retry(self._jobs[record.type]))

    async def _commit(self, call: Call, settlement: Settlement, ending: _Ending) -> Settlement | None:
        """Write the settlement in the attempt's own transaction; answers what to write without it, if that failed."""
        if settlement.status is not Status.COMPLETED:
            await self._roll_back(call)
            return settlement
        try:
            answer = await call.commit(settlement)
        except Exception as error:
            # Whether a commit arrived is unknown if the connection broke. Written under the same token, this settles
            # it: after a commit it changes nothing.
            return self._settle(ending.holding.record, Raised(error))
        if answer.refused is not None:
            return self._settle(ending.holding.record, Raised(answer.refused))
        self._finish(ending, settlement, answer)
        return None

    async def _roll_back(self, call: Call | None) -> None:
        if call is None:
            return
        try:
            await call.roll_back()
        except HoldfastError as error:
            self._observers.tell("store_error", call.work.record, detail=f"rolling back: {error}")

    def _answered(self, ending: _Ending, settlement: Settlement, answer: Settled) -> None:
        if answer.refused is not None and settlement.status is Status.COMPLETED:
            # It cannot be written as the handler wanted: that is a failed attempt.
            failed = self._settle(ending.holding.record, Raised(answer.refused))
            self._settler.submit(failed, partial(self._answered, ending, failed))
        else:
            self._finish(ending, settlement, answer)

    def _finish(self, ending: _Ending, settlement: Settlement | None, answer: Settled) -> None:
        self._holdings.remove(ending.holding)
        self._tell(ending, settlement, answer)
        ending.settled()

    def _tell(self, ending: _Ending, settlement: Settlement | None, answer: Settled) -> None:
        tell, record, duration = self._observers.tell, ending.holding.record, ticks() - ending.begun
        if settlement is None or not answer.written:
            tell("lost", record, duration=duration, detail=answer.lost or str(answer.refused))
            return
        for chain in ending.started:
            if not chain.deduplicated:
                tell("created", chain.record.first)
        error = read_error(settlement.error)
        match settlement.status:
            case Status.COMPLETED if settlement.continuation is not None:
                tell("continued", record, duration=duration, detail=settlement.continuation.type)
            case Status.PENDING if settlement.outcome == "failed":
                again = f"again in {settlement.delay / SECOND:.1f} s"
                tell("retrying", record, duration=duration, error=error, detail=again)
            case _:
                tell(settlement.outcome, record, duration=duration, error=error)
        for job_id, name in answer.unblocked:
            tell("unblocked", job_id=job_id, type=name)


class _Ending:
    """What is needed to see an attempt off."""

    __slots__ = ("begun", "holding", "settled", "started")

    def __init__(self, holding: Holding, begun: float, settled: Callable[[], None]) -> None:
        self.holding = holding
        self.begun = begun
        self.settled = settled
        self.started: list[Chain[Any]] = []


def _lost(holding: Holding) -> LostReason:
    reason = holding.signal.reason
    return cast("LostReason", reason) if reason in get_args(LostReason) else "taken_by_another_worker"


def _call_soon(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(callback)
    except RuntimeError:  # the loop is closed; the attempt ended with it
        return
