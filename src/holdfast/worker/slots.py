"""The slots of a worker: a task for each attempt, as many at once as the worker may run.

Jobs that were claimed ahead wait here for a slot. If the handlers that run are slower than expected, they are released.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from time import monotonic

from holdfast.core.record import Record
from holdfast.engine.interruption import ends_task
from holdfast.engine.observers import log
from holdfast.engine.operations import ClaimedJobs
from holdfast.worker.ahead import OVERDUE, AheadQueue
from holdfast.worker.ahead_size import NO_ROOM, Room, ahead_size
from holdfast.worker.attempt_run import AttemptRun
from holdfast.worker.durations import Durations, Estimate
from holdfast.worker.held_claims import HeldClaim, HeldClaims, lease_clock
from holdfast.worker.runner import Runner
from holdfast.worker.settler import ENOUGH
from holdfast.worker.steps.step_store import StepStore

HOOK_RAISED = "the hook of %r raised; its job is settled without it"


class Slots:
    """Runs attempts concurrently. `freed` is called when a claim may be due: a slot is free, or few jobs wait for one.

    With a `job_delay` a slot is not free after its job, so nothing is claimed ahead.
    """

    def __init__(
        self,
        runner: Runner,
        held_claims: HeldClaims,
        durations: Durations,
        steps: StepStore,
        *,
        concurrency: int,
        most_held: int,
        job_delay: float,
        stopping: asyncio.Event,
        freed: Callable[[], None],
    ) -> None:
        self.concurrency = concurrency
        self._most_ahead = most_held - concurrency
        self.tasks: dict[asyncio.Task[None], HeldClaim] = {}
        self.ahead = AheadQueue()
        self._refill_at = -1
        """The queue is refilled when it is not longer than this; -1 if nothing is claimed ahead."""
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._context = contextvars.Context()
        """The context of the worker. An attempt must not begin in the context of another one."""
        self._freeing = False
        """An attempt has ended, and `_use_free_slots` was not called since."""
        self._announced = False
        """`freed` was called, and `room` was not called since."""
        self._runner = runner
        self._steps = steps
        self._held_claims = held_claims
        self._durations = durations
        self._job_delay = job_delay
        self._stopping = stopping
        self._freed = freed

    def room(self, *, beside: int = 0) -> Room:
        """What to claim now, after waiting jobs have taken the free slots.

        Unwritten settlements count too, so that they do not pile up on a slow store. `beside` slots are kept for the
        jobs of claims that were sent and have not returned; nothing is claimed ahead beside them.
        """
        self._announced = False
        self._begin_waiting()
        free, waiting = self.concurrency - len(self.tasks), len(self.ahead.waiting)
        if waiting > max(self._refill_at, 0) and waiting >= free:
            return NO_ROOM
        fast = {} if self._job_delay or self.ahead.stalled else self._durations.fast()
        size = self._ahead_size(free, fast) if fast else 0
        self._refill_at = size // 2 if size else -1
        finds_new = bool(self._steps.types)
        unwritten = 2 * (self.concurrency + size) - len(self._held_claims)
        if finds_new:  # settlements of attempts with steps wait for each other
            unwritten += ENOUGH
        limit = max(0, min(free - waiting, unwritten) - beside)
        if beside or waiting > self._refill_at:
            return Room(limit, finds_new=finds_new)
        return Room(limit, max(0, min(size - waiting, unwritten - limit)), frozenset(fast), finds_new)

    def _ahead_size(self, free: int, fast: Mapping[str, Estimate]) -> int:
        now = lease_clock()
        moving = free
        for each in self.tasks.values():
            moving += each.record.type in fast and now - each.begun - each.ahead < OVERDUE
        longest = Estimate(*map(max, zip(*fast.values(), strict=True)))
        return ahead_size(self._most_ahead, moving, longest, self.ahead.interval) if moving else 0

    @property
    def _may_claim(self) -> bool:
        return len(self.ahead.waiting) <= self._refill_at or len(self.tasks) < self.concurrency

    @property
    def held(self) -> int:
        """How many claims are held: their handler runs or is about to, or their settlement is not written yet."""
        return len(self._held_claims)

    def begin(self, records: Sequence[Record], sent: float, fast: Collection[str] = ()) -> None:
        """Run the handlers of claimed jobs, now or when a slot is free. `sent` is the time of the claim request."""
        if self._loop is None:
            self._loop, self._context = asyncio.get_running_loop(), contextvars.copy_context()
        held_claims = self._runner.hold(records, sent)
        if self._stopping.is_set():  # claimed while the worker was stopped
            self._give_back(held_claims)
            return
        # After a slow claim, or a freeze of the process, other workers may have the jobs.
        if held_claims and held_claims[0].begun - sent >= self._runner.shortest_abort_after:
            self._give_back([each for each in held_claims if each.expired])
            held_claims = [each for each in held_claims if not each.ended]
        if isinstance(records, ClaimedJobs) and records.new:
            self._steps.note_new(held_claims, records.new)
        self._begin_waiting()
        free = self.concurrency - len(self.tasks)
        if len(held_claims) > free:
            if not {each.record.type for each in held_claims}.issubset(fast):
                # Jobs of other types than the fast ones take the slots that were free for them.
                held_claims.sort(key=lambda each: each.record.type in fast)
            self.ahead.put(ahead := held_claims[free:])
            self._steps.read_ahead(ahead)
            self._watch()
        self._run(held_claims[:free])

    def release_ahead(self) -> None:
        """Release the jobs that have not begun: the worker stops."""
        self._give_back(self.ahead.take_all())

    def release_blocked(self) -> None:
        """Release jobs that have not begun in time, while the event loop is blocked. Called in another thread."""
        if overdue := self.ahead.take_overdue():
            try:
                self._runner.give_back_now(overdue)
            except Exception as error:
                log.warning("jobs that were claimed ahead are released later: %s", error)
                assert self._loop is not None
                with suppress(RuntimeError):  # the event loop is closed
                    self._loop.call_soon_threadsafe(self._give_back, overdue)

    def _use_free_slots(self) -> None:
        """Runs once for all attempts that ended in an iteration of the event loop."""
        self._freeing = False
        self.ahead.stalled = False
        self._begin_waiting()
        if not self._announced and self._may_claim:
            self._announced = True
            self._freed()

    def _begin_waiting(self) -> None:
        """Begin jobs that were claimed ahead in the free slots, unless their leases may have expired."""
        # A loop: with an eager task factory, attempts end while others are begun.
        while self.ahead.waiting and (free := self.concurrency - len(self.tasks)) > 0:
            now, taken = lease_clock(), self.ahead.take(free)
            oldest = now - self._runner.shortest_abort_after
            late = [each for each in taken if each.renewed <= oldest and each.expired]
            if late or self._stopping.is_set():
                self._give_back(taken if self._stopping.is_set() else late)
                taken = [each for each in taken if not each.ended]
            for held_claim in taken:
                held_claim.ahead = now - held_claim.begun
            self._run(taken)

    def _run(self, held_claims: Sequence[HeldClaim]) -> None:
        assert self._loop is not None
        create_task = self._loop.create_task
        for held_claim in held_claims:
            task = create_task(self._run_attempt(held_claim), name=held_claim.record.type)
            if not task.done():  # with an eager task factory, a task may have ended already
                self.tasks[task] = held_claim

    def _watch(self) -> None:
        """Release the jobs that wait if they do not begin in time."""
        if self._timer is None:
            assert self._loop is not None
            self._timer = self._loop.call_later(OVERDUE, self._release_overdue)

    def _release_overdue(self) -> None:
        self._timer = None
        self._give_back(self.ahead.take_overdue())
        if self.ahead.waiting:
            self._watch()

    def _give_back(self, held_claims: Sequence[HeldClaim]) -> None:
        for held_claim in held_claims:
            self._runner.give_back(held_claim)

    async def _run_attempt(self, held_claim: HeldClaim) -> None:
        """Run one attempt, stage by stage. This is the outermost coroutine of its task.

        It awaits each stage itself: if the event loop throws GeneratorExit, a coroutine in between cannot continue.
        """
        task = asyncio.current_task(self._loop)
        assert task is not None
        run, runner, begun = AttemptRun(task), self._runner, monotonic()
        try:
            try:
                await runner.call(held_claim, run)
            except GeneratorExit as error:  # thrown by the event loop: `call` has noted the outcome
                if ends_task(error, task):
                    raise
            if task.cancelling():
                await _discard_cancellations(task)
            runner.decide(held_claim, run)
            if held_claim.options.type.conclude is not None:
                try:
                    await runner.conclude(held_claim, run)
                except BaseException as error:
                    if ends_task(error, task):
                        raise
                    log.error(HOOK_RAISED, held_claim.record.type, exc_info=error)
            if (call := run.call) is None:
                runner.write(held_claim, run)
            elif call.completion.has_transaction:
                await runner.end_transaction(held_claim, run)
            else:
                # While steps are stored, ten slots end ten attempts at a time. A settlement for each ten would cost
                # as much as their steps.
                runner.write(held_claim, run, later=bool(call.steps.waited and self.ahead.waiting))
            if run.interrupt is not None:
                raise run.interrupt
            if self._job_delay:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), self._job_delay)
        except BaseException as error:
            # The attempt is not settled. Without renewals its lease expires, and the reaper returns the job to pending.
            self._held_claims.remove(held_claim)
            if ends_task(error, task):
                raise
            log.error("an attempt failed because of an error in Holdfast itself", exc_info=error)
        finally:
            # Not in a done callback: that would cost as much per job as its task.
            self._free_slot(held_claim, run, begun)

    def _free_slot(self, held_claim: HeldClaim, run: AttemptRun, begun: float) -> None:
        self.tasks.pop(run.task, None)
        if (call := run.call) is None:
            self._durations.add(held_claim.record.type, begun, monotonic())
        else:
            waited = call.steps.waited + call.completion.waited
            self._durations.add(held_claim.record.type, begun, monotonic(), waited)
        if not self._freeing:
            self._freeing = True
            assert self._loop is not None
            with suppress(RuntimeError):  # the event loop is closed
                self._loop.call_soon(self._use_free_slots, context=self._context)


async def _discard_cancellations(task: asyncio.Task[None]) -> None:
    """Discard cancellations of the handler, since its task continues. A cancellation still in delivery arrives here."""
    while task.cancelling():
        task.uncancel()
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(0)
