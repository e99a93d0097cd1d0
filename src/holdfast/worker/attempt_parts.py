"""The parts of an attempt. They are the same for handlers on the event loop, in threads and in child processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from holdfast.core.job import Job
from holdfast.core.record import Record
from holdfast.engine.store import Store
from holdfast.registry.jobs import AnyJobType, Jobs
from holdfast.worker.abort_signal import Signal
from holdfast.worker.completion_rules import CompletionState
from holdfast.worker.held_claims import StepsRead
from holdfast.worker.middleware import Middleware
from holdfast.worker.steps.attempt_steps import AttemptSteps
from holdfast.worker.steps.step_store import StepStore


@dataclass(slots=True)
class AttemptParts:
    """The job of an attempt, the state of its handler, and the objects that the handler uses."""

    job: Job
    store: Store
    jobs: Jobs
    completion: CompletionState[Any]
    """What the handler has done with its transactions."""
    signal: Signal
    steps: AttemptSteps
    blockers: tuple[Any, ...] = ()
    """The outputs of the chains that the job waited for."""
    middlewares: tuple[Middleware, ...] = ()

    @classmethod
    def of(
        cls,
        record: Record,
        job_type: AnyJobType,
        signal: Signal,
        claimed: float,
        *,
        store: Store,
        jobs: Jobs,
        step_store: StepStore,
        steps_read: StepsRead | None = None,
        blockers: tuple[Any, ...] = (),
        middlewares: tuple[Middleware, ...] = (),
    ) -> Self:
        """The parts of a new attempt of this job. `claimed` is a time before its claim, on the lease clock.

        `steps_read` has the stored steps of the job if they are known, or the read that was started for them.
        """
        completion: CompletionState[Any] = CompletionState(record, job_type, jobs)
        steps = AttemptSteps(
            record, signal, claimed, store=step_store, read=steps_read, in_block=lambda: completion.in_block
        )
        return cls(Job(record, jobs), store, jobs, completion, signal, steps, blockers, middlewares)
