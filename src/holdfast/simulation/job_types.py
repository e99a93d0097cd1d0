"""Job types for work kinds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from holdfast.core.lifecycle import Cancel, Fail
from holdfast.registry.jobs import Jobs
from holdfast.simulation.work_kinds import WorkKind
from holdfast.worker import Attempt

KEEP = 3600.0
"""The keep time of simulated jobs, in seconds. It is short because they are not read later."""


class SimulatedFailure(Exception):
    """A failure that the work kind prescribes."""


def simulated(kinds: Iterable[WorkKind]) -> Jobs:
    """A registry with one job type per kind. Its jobs take `(number, seed)` and return how long they took."""
    jobs = Jobs(name="simulation")
    for kind in kinds:
        _declare(jobs, kind)
    return jobs


def _declare(jobs: Jobs, kind: WorkKind) -> None:
    async def work(attempt: Attempt, number: int, seed: int) -> float:
        seconds = kind.seconds(seed, number)
        await asyncio.sleep(seconds)
        match kind.ending(attempt.job.attempt):
            case "success":
                return seconds
            case "cancel":
                raise Cancel(f"{kind.name} is cancelled")
            case "fail" if kind.retryable:
                raise SimulatedFailure(f"{kind.name} fails in attempt {attempt.job.attempt}")
            case "fail":
                raise Fail(f"{kind.name} fails for good")

    jobs.job(name=kind.type, retry=kind.retry, keep=KEEP)(work)
