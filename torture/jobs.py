"""The job types of the workload. The input says what a handler does, so that the seed determines it."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from datetime import timedelta
from typing import Any

from holdfast import Attempt, Bound, Fail, Jobs, Retry, SyncAttempt
from torture.behaviour import Plan, behave, close_handler, record_start
from torture.elastic import jobs as elastic_jobs
from torture.flow_jobs import flow, note_failure
from torture.step_jobs import stepped

jobs = Jobs()
jobs.include(elastic_jobs)
jobs.include(flow)
jobs.include(stepped)

QUICK = Retry(initial=0.05, multiplier=2, maximum=0.5, jitter=0.2, max_attempts=12)
HUGE = 2 << 20
"""Bytes: more than the limit of any payload or error."""
LONGEST_INSIDE = 0.3
"""Seconds that a handler sleeps inside its transaction. A few connections serve all transactions of a process."""
FEW = Retry(initial=0.05, jitter=0, max_attempts=3)


@jobs.job(retry=QUICK)
async def work(attempt: Attempt, plan: Plan) -> str:
    """A chain of one job."""
    record_start(attempt, plan)
    if plan.atomic:
        async with attempt.prepare("atomic"):
            pass
    await behave(attempt, plan)
    return await _end(attempt, plan)


@jobs.job(retry=QUICK)
def toil(attempt: SyncAttempt, plan: Plan) -> str:
    """The same as a blocking handler, in a thread."""
    record_start(attempt, plan)
    if attempt.job.attempt <= plan.times:
        if plan.behaviour in ("sleep", "block"):
            time.sleep(plan.seconds)
        elif plan.behaviour == "fail":
            raise ValueError("as planned")
        elif plan.behaviour == "interrupt":
            raise KeyboardInterrupt
    token = f"token:{attempt.claim.token}"
    if not plan.inside:
        return token
    with attempt.complete() as done:
        if done.tx is not None:  # pyright: ignore[reportUnnecessaryComparison] - None on Redis
            done.tx.execute(_insert(done.tx), _entry(attempt))
        close_handler(attempt, plan)
        if plan.effect:
            done.start(effect.bind(), key=_effect_key(attempt))
        return done.output(token)


@jobs.job(retry=QUICK)
async def link(attempt: Attempt, plan: Plan, left: int) -> str | Bound[str]:
    """A job of a chain, with `left` jobs to go."""
    record_start(attempt, plan if left <= 1 else replace(plan, effect=False))
    await behave(attempt, plan)
    if left <= 1:
        return await _end(attempt, plan)
    following = link.bind(plan, left - 1)
    if not plan.inside:
        return following
    async with attempt.complete() as done:
        await _enter(done.tx, attempt)
        close_handler(attempt, plan)
        return done.continue_with(following)


@jobs.job(retry=QUICK, on_failure=note_failure)
async def gather(attempt: Attempt, plan: Plan, blockers: int) -> str:
    """A job with blockers."""
    record_start(attempt, plan)
    if len(attempt.blockers) != blockers or any(output is None for output in attempt.blockers):
        raise Fail(f"{len(attempt.blockers)} outputs of {blockers} blockers: {attempt.blockers!r}")
    await behave(attempt, plan)
    return await _end(attempt, plan)


@jobs.job(retry=QUICK)
async def keyed(attempt: Attempt, plan: Plan) -> str:
    """A job with a key, which several callers start at once."""
    record_start(attempt, plan)
    await behave(attempt, plan)
    return await _end(attempt, plan)


@jobs.job(retry=QUICK)
async def mutual(attempt: Attempt, other: str) -> str | Bound[str]:
    """Continues after the other chain, which continues after this one. The store refuses one of the two."""
    record_start(attempt, Plan(inside=False))
    if attempt.job.attempt > 1:
        return f"token:{attempt.claim.token}"
    return parting.bind().options(after=[other])


@jobs.job(retry=QUICK, on_blocker_failure="fail")
async def parting(attempt: Attempt) -> str:
    """The continuation of `mutual`, which waits for the other chain."""
    record_start(attempt, Plan(inside=False))
    return f"token:{attempt.claim.token}"


@jobs.declare
async def approval(number: int) -> str:
    """No worker runs it: it is completed from outside."""
    raise NotImplementedError


@jobs.job(retry=QUICK)
async def errand(attempt: Attempt, seconds: float) -> str:
    """Runs for some time, so that it can be completed from outside while it runs."""
    record_start(attempt, Plan(inside=False))
    await asyncio.sleep(seconds)
    return f"token:{attempt.claim.token}"


@jobs.job(retry=FEW, priority=1)
async def echo(value: Any) -> Any:
    """Returns its input."""
    return value


@jobs.job(retry=FEW)
async def vague(attempt: Attempt) -> str:
    """Returns a value that cannot be encoded, then one that is too large, then raises a very long error."""
    record_start(attempt, Plan(inside=False))
    unwritable: Any = float("nan")
    match attempt.job.attempt:
        case 1:
            return unwritable  # type: ignore[no-any-return]
        case 2:
            return "much" * (HUGE // 4)
        case _:
            raise ValueError("much" * (HUGE // 4))


@jobs.job(retry=FEW, on_failure=note_failure)
async def poison(attempt: Attempt) -> None:
    """Ends the worker process at every attempt."""
    record_start(attempt, Plan(inside=False))
    os._exit(139)


@jobs.job(retry=QUICK, keep=timedelta(seconds=1))
async def brief(attempt: Attempt) -> str:
    """Has a keep time of one second."""
    record_start(attempt, Plan(inside=False))
    return f"token:{attempt.claim.token}"


@jobs.job(retry=QUICK)
async def effect() -> str:
    """A side chain, started in another job's completion."""
    return "done"


@jobs.job(retry=Retry(initial=0.05, jitter=0, max_attempts=1))
async def hostile(attempt: Attempt, text: str) -> str:
    """Hostile text as input, as progress, and as output or error."""
    record_start(attempt, Plan(inside=False))
    await attempt.progress(0.5, text)
    if len(text) % 2:
        raise ValueError(text)
    return text


async def _end(attempt: Attempt, plan: Plan) -> str:
    token = f"token:{attempt.claim.token}"
    if not plan.inside and not plan.atomic:
        return token
    async with attempt.complete() as done:
        await _enter(done.tx, attempt)
        close_handler(attempt, plan)
        if plan.behaviour == "sleep" and _is_postgres(done.tx):
            # Only here: other stores have one writer at a time. The nemesis needs attempts with an open transaction.
            await asyncio.sleep(min(plan.seconds, LONGEST_INSIDE))
        if plan.effect:
            await done.start(effect.bind(), key=_effect_key(attempt))
        return done.output(token)


async def _enter(tx: Any, attempt: Attempt) -> None:
    """Write a row of the ledger in the completion transaction."""
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
    # The token is part of the key: two attempts that both commit create two chains, and the checker sees both.
    return f"{attempt.job.id}|{attempt.claim.token}"
