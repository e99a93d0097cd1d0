"""Runs one attempt: calls the handler, decides the settlement and submits it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast, get_args

from msgspec.structs import replace

from holdfast.core.clock import SECOND
from holdfast.core.details import epoch_of
from holdfast.core.failure import message_of
from holdfast.core.job import Chain
from holdfast.core.lifecycle import Outcome, Raised, Settlement
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.core.settle import settle
from holdfast.engine.interruption import ends_task
from holdfast.engine.observers import Observers
from holdfast.engine.operations import WRITTEN, GetBlockers, LostReason, Settle, Settled
from holdfast.engine.store import Store
from holdfast.registry.jobs import Jobs
from holdfast.worker.attempt_events import emit_claimed, emit_end
from holdfast.worker.attempt_parts import AttemptParts
from holdfast.worker.attempt_run import RELEASED, AttemptRun, aborted
from holdfast.worker.completion_rules import CompletionState, blocker_outputs, outcome_of
from holdfast.worker.handler_call import AsyncCall, Call, ThreadCall
from holdfast.worker.handler_errors import note_error
from holdfast.worker.held_claims import HeldClaim, HeldClaims, lease_clock
from holdfast.worker.lifespans import Lifespans
from holdfast.worker.limits import ReleasedLanes
from holdfast.worker.middleware import Middleware, middlewares_of, wrap_handler
from holdfast.worker.mismatch import arguments_of, reading_input
from holdfast.worker.process_call import ProcessCall
from holdfast.worker.processes import Processes
from holdfast.worker.run_options import RunOptions
from holdfast.worker.running_job import running_job, running_job_is_used
from holdfast.worker.settler import Settler
from holdfast.worker.steps.step_store import StepStore
from holdfast.worker.threads import Threads


class Runner:
    """Runs attempts, in stages: call the handler, decide, conclude, write."""

    def __init__(
        self,
        *,
        store: Store,
        jobs: Jobs,
        options: Mapping[str, RunOptions],
        held_claims: HeldClaims,
        settler: Settler,
        threads: Threads,
        processes: Processes,
        observers: Observers,
        middlewares: Iterable[Middleware],
        lifespans: Lifespans,
        steps: StepStore,
    ) -> None:
        self._store = store
        self._jobs = jobs
        self._options = options
        self._held_claims = held_claims
        self._settler = settler
        self._released = ReleasedLanes(store, jobs)
        self._threads, self._processes = threads, processes
        self._observers = observers
        given = tuple(middlewares)
        self._middlewares = {name: middlewares_of(jobs, name, given) for name in options}
        self._lifespans = lifespans
        self._steps = steps
        self._without_attempt = frozenset(
            name
            for name, each in options.items()
            if each.type.is_async and not each.type.takes_attempt and not self._middlewares[name]
        )
        """Types without an attempt object: their async handlers take none, and there is no middleware."""
        self._emits_started = self._emits_completed = self._sets_running_job = False
        self.shortest_abort_after = min((each.abort_after for each in options.values()), default=math.inf)
        """Seconds without a renewal after which a job of any type may belong to another worker."""

    def hold(self, records: Sequence[Record], sent: float) -> list[HeldClaim]:
        """Record claimed jobs, so that their leases are renewed. `sent` is the time of the claim request."""
        emit_claimed(self._observers, records)
        # Once per claim instead of once per job.
        self._emits_started, self._emits_completed = map(self._observers.wants, ("started", "completed"))
        self._sets_running_job = running_job_is_used()
        now, options = lease_clock(), self._options
        held_claims = [HeldClaim(record, options[record.type], now, sent) for record in records]
        self._held_claims.add(held_claims)
        return held_claims

    def give_back(self, held_claim: HeldClaim) -> None:
        """Release a job whose handler was not called."""
        held_claim.leave()
        self._settler.submit(held_claim, self._settle(held_claim, RELEASED), self._answered)

    def give_back_now(self, held_claims: Sequence[HeldClaim]) -> None:
        """Release jobs whose handlers were not called, while the event loop is blocked. Called in another thread."""
        for held_claim in held_claims:
            held_claim.leave()
        settlements = tuple(self._settle(each, RELEASED) for each in held_claims)
        answers = self._store.perform_sync(Settle(settlements))
        for held_claim, settlement, answer in zip(held_claims, settlements, answers, strict=True):
            self._answered(held_claim, settlement, answer)

    async def call(self, held_claim: HeldClaim, run: AttemptRun) -> None:
        """Call the handler in the current task and write its outcome to `run`. Errors of the handler are not raised.

        It awaits nothing after the handler. If a handler awaits a future whose exception is GeneratorExit, the event
        loop closes this coroutine. Only the outermost coroutine of the task can await more then.
        """
        if self._emits_started:
            self._observers.emit("started", held_claim.record)
        record, options, task = held_claim.record, held_claim.options, run.task
        if self._sets_running_job:
            running_job.set(record)  # the task belongs to this attempt
        timer: asyncio.TimerHandle | None = None
        try:
            if held_claim.enter(task):
                run.timeout = options.timeout(record)
                if run.timeout is not None:
                    timer = task.get_loop().call_later(run.timeout, held_claim.abort, "timeout")
                if record.type in self._without_attempt:
                    value = await options.type.call(None, arguments_of(record, options.type))
                    run.outcome = outcome_of(value, record, options.type, self._jobs)
                else:
                    chains = (await self._store.perform(GetBlockers((record.id,))))[0] if record.blockers else []
                    run.call = self._call(held_claim, chains)
                    if epoch_of(record.details):  # `step_id` depends on the stored steps
                        await run.call.steps.load()
                    middlewares = self._middlewares[record.type]
                    value = await wrap_handler(middlewares, run.call.attempt, run.call.run)()
                    run.outcome = self._outcome(run.call, value)
        except BaseException as error:
            note_error(held_claim, run, error)
        finally:
            held_claim.leave()
            if timer is not None:
                timer.cancel()

    def _outcome(self, call: Call, value: Any) -> Outcome:
        """The outcome of a handler that returned."""
        if call.steps.suspended:
            return Raised(RuntimeError("the handler, or a middleware, caught Suspended and did not raise it again"))
        return call.completion.outcome(value)

    def decide(self, held_claim: HeldClaim, run: AttemptRun) -> None:
        """Decide the settlement after the handler has ended."""
        if run.outcome is not None and held_claim.signal.reason is not None:
            run.outcome = aborted(held_claim.signal.reason, run.outcome, run.timeout)
        run.settlement = None if run.outcome is None else self._settle(held_claim, run.outcome, run.call)

    async def conclude(self, held_claim: HeldClaim, run: AttemptRun) -> None:
        """Call the hook of the type, if it has one, before a final outcome is written."""
        conclude, settlement = held_claim.options.type.conclude, run.settlement
        if conclude is None or run.outcome is None or settlement is None:
            return
        if settlement.status in (Status.COMPLETED, Status.FAILED):
            run.settlement = await conclude(held_claim.record, run.outcome, settlement)

    def write(self, held_claim: HeldClaim, run: AttemptRun, *, later: bool = False) -> None:
        """Submit the settlement. An attempt with an open transaction uses `end_transaction` instead.

        `later`: other jobs wait for the slot. A completion may then be written a little later, together with others.
        """
        settlement, call = run.settlement, run.call
        if settlement is None:  # the claim is lost, so nothing may be written
            self._abort_lost(held_claim)
            return
        answered = self._answered
        if isinstance(run.outcome, Raised):
            answered = partial(self._answered, cause=run.outcome.error)
        if call is None:
            self._settler.submit(held_claim, settlement, answered)
            return
        # The settlement of a job with lanes is not delayed: the running row holds the permits of its lanes.
        later = later and settlement.status is Status.COMPLETED and not held_claim.type.limits
        self._settler.submit(held_claim, settlement, answered, call.completion.log, later=later)

    async def end_transaction(self, held_claim: HeldClaim, run: AttemptRun) -> None:
        """Write the settlement in the attempt's transaction and commit, or roll back and settle outside of it."""
        call, settlement = run.call, run.settlement
        assert call is not None
        if settlement is None or settlement.status is not Status.COMPLETED or call.completion.tx is None:
            try:
                await call.roll_back()
            except BaseException as error:  # the server rolls back when the connection closes
                if ends_task(error, run.task):
                    raise
                detail = f"rolling back: {message_of(error)}"
                self._observers.emit("store_error", held_claim.record, detail=detail, cause=error)
            self.write(held_claim, run)
            return
        since = lease_clock()
        try:
            answer = await call.commit(settlement)
        except BaseException as error:
            if ends_task(error, run.task):
                raise
            self._settle_in_doubt(held_claim, settlement, error, call.completion)
        else:
            call.completion.waited += lease_clock() - since
            self._answered(held_claim, settlement, answer, started=call.completion.started)

    def _call(self, held_claim: HeldClaim, chains: list[ChainRecord]) -> Call:
        job_type = held_claim.options.type
        blockers: tuple[Any, ...] = ()
        if chains:
            with reading_input():
                blockers = blocker_outputs(chains, self._jobs)
        arguments = arguments_of(held_claim.record, job_type)
        # The time of the claim request, if no renewal has replaced it. So a late answer to the claim shortens no sleep.
        claimed = min(held_claim.begun, held_claim.renewed)
        parts = AttemptParts.of(
            held_claim.record, job_type, held_claim.signal, claimed,
            store=self._store.shard_of(held_claim.record.id), jobs=self._jobs,
            step_store=self._steps, steps_read=held_claim.steps, blockers=blockers,
            middlewares=self._middlewares[job_type.name],
        )  # fmt: skip
        call: Call
        if job_type.is_async:
            call = AsyncCall(parts, job_type, arguments, self._threads)
        elif job_type.executor == "process":
            call = ProcessCall(parts, held_claim, self._processes)
        else:
            call = ThreadCall(parts, job_type, arguments, self._threads)
        call.attempt.state = self._lifespans.state(job_type.name)
        if chains:
            # Not `Chain[Any](...)`, which takes five times as long: there may be thousands.
            blocker_chains: list[Chain[Any]] = [Chain(chain, self._jobs) for chain in chains]
            call.attempt.blocker_chains = tuple(blocker_chains)
        return call

    def _settle(self, held_claim: HeldClaim, outcome: Outcome, call: Call | None = None) -> Settlement:
        options = held_claim.options
        settlement = settle(
            held_claim.record, outcome, options.retry, mismatch_timeout=options.mismatch_timeout,
            ahead=int(held_claim.ahead * SECOND) if held_claim.ahead else 0,
        )  # fmt: skip
        if call is not None and call.completion.keep is not None:
            settlement = replace(settlement, keep=call.completion.keep)
        return settlement

    def _settle_in_doubt(
        self, held_claim: HeldClaim, intended: Settlement, error: BaseException, completion: CompletionState[Any]
    ) -> None:
        """Settle an attempt whose commit raised an error: the transaction may or may not be committed.

        A failure is written with the same token, which changes nothing if the commit succeeded. If the job is found
        completed, the intended settlement is sent again: the store reports whether it was the one that committed.
        """

        def answered(held_claim: HeldClaim, failed: Settlement, answer: Settled) -> None:
            if answer.lost == "already_completed":
                self._settler.submit(held_claim, intended, partial(self._answered, started=completion.started))
            else:
                self._answered(held_claim, failed, answer, cause=error)

        self._settler.submit(held_claim, self._settle(held_claim, Raised(error)), answered, completion.log)

    def _answered(
        self,
        held_claim: HeldClaim,
        settlement: Settlement,
        answer: Settled,
        *,
        started: Sequence[Chain[Any]] = (),
        cause: BaseException | None = None,
    ) -> None:
        if answer.refused is not None and settlement.status is Status.COMPLETED:
            # The store refuses the handler's result, so the attempt has failed.
            failed = self._settle(held_claim, Raised(answer.refused))
            self._settler.submit(held_claim, failed, partial(self._answered, cause=answer.refused))
            return
        self._held_claims.remove(held_claim)
        record = held_claim.record
        if record.details is not None or record.index:
            self._released.add(record)
        # The only event of a plain end is `completed`.
        is_plain = settlement.outcome == "completed" and settlement.continuation is None and answer is WRITTEN
        if self._emits_completed or started or not is_plain:
            emit_end(self._observers, held_claim, settlement, answer, started, cause=cause)

    def _abort_lost(self, held_claim: HeldClaim) -> None:
        reason = held_claim.signal.reason
        lost = cast("LostReason", reason) if reason in get_args(LostReason) else "taken_by_another_worker"
        self._held_claims.remove(held_claim)
        self._released.add(held_claim.record)
        emit_end(self._observers, held_claim, None, Settled(lost=lost))
