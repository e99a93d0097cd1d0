"""Job types with durable steps, sleeps, messages and cursors. The checker knows the numbers from here.

The result of a step is the token of the attempt that ran it, so that the evidence shows which attempt stored it.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from holdfast import Attempt, Fail, Jobs, Limit, MessageTimeout, Retry, SyncAttempt
from holdfast.core.details import epoch_of
from torture.behaviour import Plan, Recorder, record_start

stepped = Jobs()

STEPWISE = 6
"""Jobs of `stepwise` that run at once. More are asleep."""
ROWS = 10
EVERY = 3
"""Items of the cursor, and after how many of them its position is saved."""
MESSAGE = "go"
TRANSACTIONAL = ("reserve", "ship")
"""The transactional steps. Each writes one row of the ledger of steps."""
PLAIN = ("charge", "part")
TYPES = ("stepwise", "stride")
OFTEN = Retry(initial=0.05, maximum=0.5, jitter=0, max_attempts=15)


@dataclass(frozen=True)
class StepPlan:
    """What a handler with steps does."""

    seconds: float = 0.0
    """Duration of each plain step."""
    fails: int = 0
    """Attempts that fail after the first transactional step."""
    refused: bool = False
    """Fails for good after the message, until it is retried from a step."""
    sleep: float = 0.5
    timeout: float = 3.0
    """Seconds that the receive waits."""


@stepped.job(retry=OFTEN, limits=[Limit("stepwise", STEPWISE)])
async def stepwise(attempt: Attempt, plan: StepPlan) -> str:
    """Steps, a sleep, a message, a cursor and steps at once."""
    record_start(attempt, Plan(inside=False))
    steps = _Notes(attempt)
    steps.value("charge", await attempt.step("charge", _charge, steps, "charge", plan.seconds))
    steps.value("reserve", await attempt.tx_step("reserve", _enter, steps, "reserve"))
    if attempt.job.attempt <= plan.fails:
        raise ValueError("as planned")
    steps.note("sleeping", seconds=plan.sleep)
    await attempt.sleep("pause", plan.sleep)
    steps.note("slept")
    steps.note("receiving")
    try:
        steps.note("received", value=await attempt.receive(MESSAGE, str, timeout=plan.timeout))
    except MessageTimeout:
        steps.note("received", value=None)
    if plan.refused and not epoch_of(attempt.job.record.details):
        raise Fail("as planned")
    async for item in attempt.cursor("rows", range(ROWS), every=EVERY):
        steps.note("item", item=item, id=attempt.step_id("rows"))
    parts = (attempt.step("part", _charge, steps, "part", plan.seconds, part, each=part) for part in (1, 2))
    for part, value in enumerate(await asyncio.gather(*parts), 1):
        steps.value("part", value, part)
    steps.value("ship", await attempt.tx_step("ship", _enter, steps, "ship"))
    return f"token:{attempt.claim.token}"


@stepped.job(retry=OFTEN)
def stride(attempt: SyncAttempt, plan: StepPlan) -> str:
    """The same as a blocking handler, in a thread."""
    record_start(attempt, Plan(inside=False))
    steps = _Notes(attempt)
    steps.value("charge", attempt.step("charge", _charge_blocking, steps, "charge", plan.seconds))
    steps.value("reserve", attempt.tx_step("reserve", _enter_blocking, steps, "reserve"))
    if attempt.job.attempt <= plan.fails:
        raise ValueError("as planned")
    steps.note("sleeping", seconds=plan.sleep)
    attempt.sleep("pause", plan.sleep)
    steps.note("slept")
    steps.note("receiving")
    try:
        steps.note("received", value=attempt.receive(MESSAGE, str, timeout=plan.timeout))
    except MessageTimeout:
        steps.note("received", value=None)
    if plan.refused and not epoch_of(attempt.job.record.details):
        raise Fail("as planned")
    for item in attempt.cursor("rows", range(ROWS), every=EVERY):
        steps.note("item", item=item, id=attempt.step_id("rows"))
    steps.value("ship", attempt.tx_step("ship", _enter_blocking, steps, "ship"))
    return f"token:{attempt.claim.token}"


class _Notes:
    """Records what the handler of one attempt does."""

    def __init__(self, attempt: Attempt | SyncAttempt) -> None:
        self.attempt = attempt
        self.token = attempt.claim.token

    def note(self, what: str, **facts: Any) -> None:
        if Recorder.history is not None:
            job = self.attempt.job
            Recorder.history.note(what, job=job.id, chain=job.chain_id, token=self.token, **facts)

    def id(self, name: str, part: int = 0) -> str:
        return self.attempt.step_id(name, each=part) if part else self.attempt.step_id(name)

    def ran(self, name: str, part: int = 0) -> str:
        """The function of a step runs. Returns its result."""
        self.note("step ran", name=name, id=self.id(name, part))
        return self.token

    def value(self, name: str, value: str, part: int = 0) -> None:
        """The handler has the result, so the checkpoint is committed."""
        self.note("step value", name=name, id=self.id(name, part), value=value)


async def _charge(steps: _Notes, name: str, seconds: float, part: int = 0) -> str:
    token = steps.ran(name, part)
    await asyncio.sleep(seconds)
    return token


def _charge_blocking(steps: _Notes, name: str, seconds: float) -> str:
    token = steps.ran(name)
    time.sleep(seconds)
    return token


async def _enter(tx: Any, steps: _Notes, name: str) -> str:
    token = steps.ran(name)
    if tx is not None:
        await tx.execute(*_row(tx, steps, name))
    return token


def _enter_blocking(tx: Any, steps: _Notes, name: str) -> str:
    token = steps.ran(name)
    if tx is not None:
        tx.execute(*_row(tx, steps, name))
    return token


def _row(tx: Any, steps: _Notes, name: str) -> tuple[str, tuple[str, str, str, str]]:
    """A row of the ledger of steps, which has no unique index."""
    postgres = any(each.__module__.startswith("psycopg") for each in type(tx).__mro__)
    mark, table = ("%s", "torture.step_ledger") if postgres else ("?", "torture_step_ledger")
    values = (steps.attempt.job.id, name, steps.id(name), steps.token)
    return f"insert into {table} (job, name, id, token) values ({', '.join([mark] * 4)})", values  # noqa: S608
