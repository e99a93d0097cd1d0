"""The job types of the workload. What a handler does is said in its input, so that a seed decides it."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Literal

from holdfast import Attempt, Bound, Fail, Jobs, Reschedule, Retry, SyncAttempt
from torture.elastic import jobs as elastic_jobs
from torture.history import History

jobs = Jobs()
jobs.include(elastic_jobs)

QUICK = Retry(initial=0.05, multiplier=2, maximum=0.5, jitter=0.2, max_attempts=12)
_MEASURED = 1_000_000
HUGE = 2 << 20
"""Bytes: more than is kept of anything."""
LONGEST_INSIDE = 0.3
"""Seconds that a handler sleeps inside its transaction. A few connections serve all transactions of a process."""
FEW = Retry(initial=0.05, jitter=0, max_attempts=3)

Deed = Literal[
    "return", "sleep", "block", "hog", "fail", "fail for ever", "reschedule", "refuse", "kill", "stop", "progress",
    "interrupt", "close",
]  # fmt: skip

HARSH: tuple[Deed, ...] = ("block", "hog", "kill", "stop")
"""Deeds that harm the worker."""


@dataclass(frozen=True)
class Plan:
    """What an attempt does before it ends. `times` is for how many attempts; after that it just returns."""

    deed: Deed = "return"
    seconds: float = 0.0
    times: int = 1
    inside: bool = True
    """End in a transaction, with a row in the ledger; otherwise by returning a value."""
    effect: bool = False
    """Start a side chain in that transaction."""
    atomic: bool = False
    """Open it already before the deed."""


class Stage:
    """Where handlers note what they do; None in a producer."""

    history: History | None = None


@jobs.job(retry=QUICK)
async def work(attempt: Attempt, plan: Plan) -> str:
    """One step, by itself."""
    _began(attempt, plan)
    if plan.atomic:
        async with attempt.prepare("atomic"):
            pass
    await _do(attempt, plan)
    return await _end(attempt, plan)


@jobs.job(retry=QUICK)
def toil(attempt: SyncAttempt, plan: Plan) -> str:
    """The same in a thread."""
    _began(attempt, plan)
    if attempt.job.attempt <= plan.times:
        if plan.deed in ("sleep", "block"):
            time.sleep(plan.seconds)
        elif plan.deed == "fail":
            raise ValueError("as planned")
        elif plan.deed == "interrupt":
            raise KeyboardInterrupt
    token = f"token:{attempt.claim.token}"
    if not plan.inside:
        return token
    with attempt.complete() as done:
        if done.tx is not None:  # pyright: ignore[reportUnnecessaryComparison] - None on Redis
            done.tx.execute(_insert(done.tx), _entry(attempt))
        _close(attempt, plan)
        if plan.effect:
            done.start(effect.bind(), key=_effect_key(attempt))
        return done.output(token)


@jobs.job(retry=QUICK)
async def link(attempt: Attempt, plan: Plan, left: int) -> str | Bound[str]:
    """A step of a chain of which so many are left."""
    _began(attempt, plan if left <= 1 else replace(plan, effect=False))
    await _do(attempt, plan)
    if left <= 1:
        return await _end(attempt, plan)
    following = link.bind(plan, left - 1)
    if not plan.inside:
        return following
    async with attempt.complete() as done:
        await _enter(done.tx, attempt)
        _close(attempt, plan)
        return done.continue_with(following)


@jobs.job(retry=QUICK)
async def gather(attempt: Attempt, plan: Plan, blockers: int) -> str:
    """A job that waited for others."""
    _began(attempt, plan)
    if len(attempt.blockers) != blockers or any(output is None for output in attempt.blockers):
        raise Fail(f"{len(attempt.blockers)} outputs of {blockers} blockers: {attempt.blockers!r}")
    await _do(attempt, plan)
    return await _end(attempt, plan)


@jobs.job(retry=QUICK)
async def keyed(attempt: Attempt, plan: Plan) -> str:
    """A job that many start at once."""
    _began(attempt, plan)
    await _do(attempt, plan)
    return await _end(attempt, plan)


@jobs.job(retry=QUICK)
async def mutual(attempt: Attempt, other: str) -> str | Bound[str]:
    """Continues after the other chain, which continues after this one. The store refuses one of the two."""
    _began(attempt, Plan(inside=False))
    if attempt.job.attempt > 1:
        return f"token:{attempt.claim.token}"
    return parting.bind().options(after=[other])


@jobs.job(retry=QUICK, on_blocker_failure="fail")
async def parting(attempt: Attempt) -> str:
    """The step of one of two such chains that waits for the other."""
    _began(attempt, Plan(inside=False))
    return f"token:{attempt.claim.token}"


@jobs.declare
async def approval(number: int) -> str:
    """Never run: completed from outside."""
    raise NotImplementedError


@jobs.job(retry=QUICK)
async def errand(attempt: Attempt, seconds: float) -> str:
    """Takes a while, and may be completed from outside meanwhile."""
    _began(attempt, Plan(inside=False))
    await asyncio.sleep(seconds)
    return f"token:{attempt.claim.token}"


@jobs.job(retry=FEW, priority=1)
async def echo(value: Any) -> Any:
    """Gives back what it is given."""
    return value


@jobs.job(retry=FEW)
async def vague(attempt: Attempt) -> str:
    """Returns what cannot be written, then far too much, and in the end complains at length."""
    _began(attempt, Plan(inside=False))
    unwritable: Any = float("nan")
    match attempt.job.attempt:
        case 1:
            return unwritable  # type: ignore[no-any-return]
        case 2:
            return "much" * (HUGE // 4)
        case _:
            raise ValueError("much" * (HUGE // 4))


@jobs.job(retry=FEW)
async def poison(attempt: Attempt) -> None:
    """Ends its worker, each time."""
    _began(attempt, Plan(inside=False))
    os._exit(139)


@jobs.job(retry=QUICK, keep=timedelta(seconds=1))
async def brief(attempt: Attempt) -> str:
    """Kept for a second only."""
    _began(attempt, Plan(inside=False))
    return f"token:{attempt.claim.token}"


@jobs.job(retry=QUICK)
async def effect() -> str:
    """A side chain, started in another job's completion."""
    return "done"


@jobs.job(retry=Retry(initial=0.05, jitter=0, max_attempts=1))
async def hostile(attempt: Attempt, text: str) -> str:
    """Text that means harm to whoever shows it: as input, as progress, and as output or error."""
    _began(attempt, Plan(inside=False))
    await attempt.progress(0.5, text)
    if len(text) % 2:
        raise ValueError(text)
    return text


def _began(attempt: Attempt | SyncAttempt, plan: Plan) -> None:
    if Stage.history is not None:
        job = attempt.job
        Stage.history.note("handler", job=job.id, attempt=job.attempt, token=attempt.claim.token, type=job.type)
        if plan.inside:
            Stage.history.note("promise", job=job.id, ledger=True, effect=plan.effect)


async def _do(attempt: Attempt, plan: Plan) -> None:
    if attempt.job.attempt > plan.times and plan.deed != "fail for ever":
        return
    if plan.deed in HARSH and Stage.history is not None:
        Stage.history.note("deed", kind=plan.deed, job=attempt.job.id)
    match plan.deed:
        case "sleep":
            await _sleep(attempt, plan.seconds)
        case "block":
            time.sleep(plan.seconds)  # noqa: ASYNC251 - that is the fault
        case "hog":
            _hold_the_interpreter(plan.seconds)
        case "fail" | "fail for ever":
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
    """Note the reason if the attempt is aborted meanwhile."""
    try:
        await asyncio.sleep(seconds)
    finally:
        if attempt.signal.aborted and Stage.history is not None:
            facts = {"job": attempt.job.id, "token": attempt.claim.token, "reason": attempt.signal.reason}
            Stage.history.note("aborted", **facts)


def _close(attempt: Attempt | SyncAttempt, plan: Plan) -> None:
    """Leave complete() by a GeneratorExit, if that is the plan."""
    if plan.deed == "close" and attempt.job.attempt <= plan.times:
        raise GeneratorExit


async def _end(attempt: Attempt, plan: Plan) -> str:
    token = f"token:{attempt.claim.token}"
    if not plan.inside and not plan.atomic:
        return token
    async with attempt.complete() as done:
        await _enter(done.tx, attempt)
        _close(attempt, plan)
        if plan.deed == "sleep" and _is_postgres(done.tx):
            # Other stores have one writer at a time. The nemesis looks for attempts that are inside their transaction.
            await asyncio.sleep(min(plan.seconds, LONGEST_INSIDE))
        if plan.effect:
            await done.start(effect.bind(), key=_effect_key(attempt))
        return done.output(token)


async def _enter(tx: Any, attempt: Attempt) -> None:
    """Write the ledger, in the completion's own transaction."""
    if tx is not None:
        await tx.execute(_insert(tx), _entry(attempt))


def _insert(tx: Any) -> str:
    mark = "%s" if _is_postgres(tx) else "?"
    table = "torture.ledger" if mark == "%s" else "torture_ledger"
    return f"insert into {table} (job, attempt, token) values ({mark}, {mark}, {mark})"  # noqa: S608


def _is_postgres(tx: Any) -> bool:
    return any(each.__module__.startswith("psycopg") for each in type(tx).__mro__)


def _entry(attempt: Attempt | SyncAttempt) -> tuple[str, int, str]:
    return attempt.job.id, attempt.job.attempt, attempt.claim.token


def _effect_key(attempt: Attempt | SyncAttempt) -> str:
    # With the token, so that two attempts which both commit make two chains and do not hide behind one key.
    return f"{attempt.job.id}|{attempt.claim.token}"


def _hold_the_interpreter(seconds: float) -> None:
    """Keep every other thread of this process from running, the renewer's too, for at least so long.

    One call into C, which holds the lock from its beginning to its end: between two calls another thread would have
    its turn. How long a call takes is measured first.
    """
    until = time.monotonic() + seconds
    begun = time.perf_counter()
    sum(range(_MEASURED))
    pace = _MEASURED / (time.perf_counter() - begun)
    while (left := until - time.monotonic()) > 0:
        sum(range(int(pace * left * 1.3)))
