"""Runs one attempt: from a claimed job to its outcome, written."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast, get_args

from msgspec.structs import replace

from holdfast.core.failure import message_of
from holdfast.core.job import Chain
from holdfast.core.lifecycle import Mismatched, Outcome, Raised, Released, Settlement, settle
from holdfast.core.record import Record, Status
from holdfast.engine.interruption import ends_task, is_ctrl_c
from holdfast.engine.observers import Observers
from holdfast.engine.operations import GetBlockers, LostReason, Settled
from holdfast.engine.store import Store
from holdfast.errors import ClaimLost
from holdfast.registry.jobs import Jobs
from holdfast.worker.attempt_events import emit_claimed, emit_end
from holdfast.worker.completion_rules import blocker_outputs, outcome_of
from holdfast.worker.handler_call import AsyncCall, Call, ThreadCall
from holdfast.worker.held_claims import Holding, Holdings, ticks
from holdfast.worker.middleware import Middleware, onion
from holdfast.worker.mismatch import InputMismatch, arguments_of, reading_input
from holdfast.worker.process_call import ProcessCall
from holdfast.worker.processes import Processes
from holdfast.worker.run_options import RunTerms
from holdfast.worker.settler import Settler
from holdfast.worker.threads import Threads

_RELEASED = Released()


class AttemptTimeout(Exception):
    """The attempt took longer than its timeout."""


class LeaseInDanger(Exception):
    """The lease could not be renewed in time, so the attempt was stopped before another worker could take the job."""


class Run:
    """What is known of one attempt so far. Each stage of the runner notes here what the next one needs."""

    __slots__ = ("call", "interrupt", "outcome", "settlement", "task", "timeout")

    def __init__(self, task: asyncio.Task[None]) -> None:
        self.task = task
        self.call: Call | None = None
        self.timeout: float | None = None
        self.outcome: Outcome | None = _RELEASED
        """None if the claim is lost."""
        self.settlement: Settlement | None = None
        self.interrupt: BaseException | None = None
        """A Ctrl-C that was raised while the handler ran."""

    @property
    def has_transaction(self) -> bool:
        """Whether a transaction of the attempt is open: it must end before the slot is free."""
        return self.call is not None and self.call.work.tx is not None


class Runner:
    """Runs attempts, in stages: call the handler, decide, conclude, write."""

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
        emit_claimed(self._observers, records)
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

    async def call(self, holding: Holding, run: Run) -> None:
        """Call the handler in the current task and note its outcome in `run`. Raises nothing that the handler raises.

        It awaits nothing after the handler: if a handler awaits a future whose exception is GeneratorExit, then the
        event loop closes this coroutine, and only the outermost coroutine of the task can await more.
        """
        if self._tells_starts:
            self._observers.emit("started", holding.record)
        record, terms, task = holding.record, holding.terms, run.task
        timer: asyncio.TimerHandle | None = None
        try:
            if holding.enter(task):
                run.timeout = terms.timeout(record)
                if run.timeout is not None:
                    timer = task.get_loop().call_later(run.timeout, holding.abort, "timeout")
                if record.type in self._bare:
                    value = await terms.type.call(None, arguments_of(record, terms.type))
                    run.outcome = outcome_of(value, record, terms.type)
                else:
                    blockers = (await self._blockers(record)) if record.blockers else ()
                    run.call = self._call(holding, blockers)
                    value = await onion(self._middlewares, run.call.attempt, run.call.run)()
                    run.outcome = run.call.work.outcome(value)
        except asyncio.CancelledError as error:
            # Unless the attempt was aborted, the handler awaited something that was cancelled: an error like any other.
            run.outcome = _RELEASED if holding.signal.aborted else Raised(error)
        except ClaimLost as error:
            holding.signal.fire(cast("LostReason", error.reason))
            run.outcome = None
        except InputMismatch as mismatch:
            run.outcome = Mismatched(mismatch.refusal)
        except BaseException as error:
            # Of these only Ctrl-C ends the worker. A handler that raises SystemExit, say, has failed.
            if terms.type.is_async and is_ctrl_c(error):
                run.interrupt = error
            else:
                run.outcome = Raised(error)
        finally:
            holding.leave()
            if timer is not None:
                timer.cancel()

    def decide(self, holding: Holding, run: Run) -> None:
        """Decide what to write, once the handler has ended."""
        if run.outcome is not None and holding.signal.reason is not None:
            run.outcome = self._aborted(holding, run.outcome, run.timeout)
        run.settlement = None if run.outcome is None else self._settle(holding, run.outcome, run.call)

    async def conclude(self, holding: Holding, run: Run) -> None:
        """Call the hook of the type, if it has one, before a final outcome is written."""
        conclude, settlement = holding.terms.type.conclude, run.settlement
        if conclude is not None and run.outcome is not None and settlement is not None and _is_final(settlement):
            run.settlement = await conclude(holding.record, run.outcome, settlement)

    def write(self, holding: Holding, run: Run) -> None:
        """Have the settlement written. An attempt with a transaction of its own goes through `end_transaction`."""
        if run.settlement is None:  # the claim is lost, and with it the right to write
            self._lose(holding)
        else:
            self._submit(holding, run.settlement)

    async def end_transaction(self, holding: Holding, run: Run) -> None:
        """Commit the attempt's own transaction with its settlement in it, or roll it back and settle without it."""
        call, settlement = run.call, run.settlement
        assert call is not None
        if settlement is None or settlement.status is not Status.COMPLETED:
            try:
                await call.roll_back()
            except BaseException as error:  # the transaction ends with its connection
                if ends_task(error, run.task):
                    raise
                detail = f"rolling back: {message_of(error)}"
                self._observers.emit("store_error", holding.record, detail=detail, cause=error)
            self.write(holding, run)
            return
        started = call.work.started
        try:
            answer = await call.commit(settlement)
        except BaseException as error:
            if ends_task(error, run.task):
                raise
            self._settle_in_doubt(holding, settlement, error, started)
        else:
            self._answered(holding, settlement, answer, started=started)

    async def _blockers(self, record: Record) -> tuple[Any, ...]:
        chains = await self._store.perform(GetBlockers(record.id))
        with reading_input():
            return blocker_outputs(chains, self._jobs)

    def _call(self, holding: Holding, blockers: tuple[Any, ...]) -> Call:
        job_type = holding.terms.type
        arguments = arguments_of(holding.record, job_type)
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

    def _settle(self, holding: Holding, outcome: Outcome, call: Call | None = None) -> Settlement:
        terms = holding.terms
        settlement = settle(holding.record, outcome, terms.retry, mismatch_timeout=terms.mismatch_timeout)
        if call is not None and call.work.keep is not None:
            settlement = replace(settlement, keep=call.work.keep)
        return settlement

    def _submit(self, holding: Holding, settlement: Settlement) -> None:
        self._settler.submit(holding, settlement, self._answered)

    def _settle_in_doubt(
        self, holding: Holding, hoped: Settlement, error: BaseException, started: list[Chain[Any]]
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
        emit_end(self._observers, holding, settlement, answer, started)

    def _lose(self, holding: Holding) -> None:
        reason = holding.signal.reason
        lost = cast("LostReason", reason) if reason in get_args(LostReason) else "taken_by_another_worker"
        self._holdings.remove(holding)
        emit_end(self._observers, holding, None, Settled(lost=lost))


def _is_final(settlement: Settlement) -> bool:
    return settlement.status is Status.COMPLETED or settlement.status is Status.FAILED
