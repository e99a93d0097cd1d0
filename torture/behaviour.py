"""What handlers of the workload do before they end: the plan in the input of a job, and its execution."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from dataclasses import dataclass
from typing import Literal

from holdfast import Attempt, Fail, Reschedule, SyncAttempt
from torture.history import History

_MEASURED = 1_000_000

Behaviour = Literal[
    "return", "sleep", "block", "hog", "fail", "fail forever", "reschedule", "refuse", "kill", "stop", "progress",
    "interrupt", "close",
]  # fmt: skip

HARSH: tuple[Behaviour, ...] = ("block", "hog", "kill", "stop")
"""Behaviours that disturb the worker."""


@dataclass(frozen=True)
class Plan:
    """What the first `times` attempts do before they end. Later attempts return at once."""

    behaviour: Behaviour = "return"
    seconds: float = 0.0
    times: int = 1
    inside: bool = True
    """Complete in a transaction that writes a row of the ledger; otherwise return a value."""
    effect: bool = False
    """Start a side chain in that transaction."""
    atomic: bool = False
    """Open the transaction before the behaviour."""


class Recorder:
    """The history to which handlers write; None in a producer."""

    history: History | None = None


def record_start(attempt: Attempt | SyncAttempt, plan: Plan) -> None:
    if Recorder.history is not None:
        job = attempt.job
        Recorder.history.note("handler", job=job.id, attempt=job.attempt, token=attempt.claim.token, type=job.type)
        if plan.inside:
            Recorder.history.note("promise", job=job.id, ledger=True, effect=plan.effect)


async def behave(attempt: Attempt, plan: Plan) -> None:
    if attempt.job.attempt > plan.times and plan.behaviour != "fail forever":
        return
    if plan.behaviour in HARSH and Recorder.history is not None:
        Recorder.history.note("behaviour", kind=plan.behaviour, job=attempt.job.id)
    match plan.behaviour:
        case "sleep":
            await _sleep(attempt, plan.seconds)
        case "block":
            time.sleep(plan.seconds)  # noqa: ASYNC251 - blocking the loop is the fault
        case "hog":
            _hold_the_interpreter(plan.seconds)
        case "fail" | "fail forever":
            raise ValueError("as planned")
        case "interrupt":
            raise KeyboardInterrupt
        case "reschedule":
            raise Reschedule(delay=plan.seconds)
        case "refuse":
            raise Fail("as planned")
        case "progress":
            await attempt.progress(0.5, "half")
            await asyncio.sleep(plan.seconds)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "return" | "close":
            pass


async def _sleep(attempt: Attempt, seconds: float) -> None:
    """Sleep, and record the reason if the attempt is aborted."""
    try:
        await asyncio.sleep(seconds)
    finally:
        if attempt.signal.aborted and Recorder.history is not None:
            facts = {"job": attempt.job.id, "token": attempt.claim.token, "reason": attempt.signal.reason}
            Recorder.history.note("aborted", **facts)


def close_handler(attempt: Attempt | SyncAttempt, plan: Plan) -> None:
    """Leave complete() with GeneratorExit, if the plan says so."""
    if plan.behaviour == "close" and attempt.job.attempt <= plan.times:
        raise GeneratorExit


def _hold_the_interpreter(seconds: float) -> None:
    """Hold the GIL for at least this time, so that no other thread of the process runs, not even the renewer.

    A single call into C holds the GIL from its beginning to its end; between two calls another thread could run. The
    speed is measured first.
    """
    until = time.monotonic() + seconds
    begun = time.perf_counter()
    sum(range(_MEASURED))
    pace = _MEASURED / (time.perf_counter() - begun)
    while (left := until - time.monotonic()) > 0:
        sum(range(int(pace * left * 1.3)))
