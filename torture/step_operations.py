"""The operations of a producer on jobs with steps: starts, messages, and retries from a step."""

from __future__ import annotations

import asyncio
from typing import Any

from holdfast import Bound
from holdfast.core.ids import new_id
from torture.actor import Actor
from torture.step_jobs import MESSAGE, TYPES, StepPlan, stepwise, stride


async def start_steps(actor: Actor) -> None:
    """Jobs with steps. Most get messages: before they wait, while they wait, or from several senders at once."""
    chains = await actor.start([_bound(actor) for _ in range(actor.random.randint(1, 3))])
    await asyncio.gather(*(_send_some(actor, chain.id) for chain in chains))


async def retry_from_step(actor: Actor) -> None:
    """Retry a failed job from a step. Other callers may do the same."""
    async with actor.noting("list"):
        page = await actor.client.list_jobs(status=["failed", "cancelled"], type=list(TYPES), limit=20)
        for job in page.items[:2]:
            step = actor.random.choice(("charge", "reserve", "pause", MESSAGE))
            calls = [_retry(actor, job.id, step) for _ in range(actor.random.choice((1, 1, 2)))]
            await asyncio.gather(*calls)
            if actor.random.random() < 0.5:
                await _send(actor, job.chain_id)


def _bound(actor: Actor) -> Bound[Any]:
    rng = actor.random
    plan = StepPlan(
        seconds=rng.choice((0.0, 0.0, 0.05, 1.3 * actor.settings.lease)),
        fails=rng.choice((0, 0, 0, 1, 2)),
        refused=rng.random() < 0.3,
        sleep=rng.choice((0.0, 0.05, 0.4, 0.8)),
        timeout=rng.choice((0.1, 1.0, 3.0)),
    )
    kind = stride if actor.settings.threads and rng.random() < 0.25 else stepwise
    return kind.bind(plan)


async def _send_some(actor: Actor, chain: str) -> None:
    match actor.random.choice(("early", "late", "at once", "now and then", "never")):
        case "early":
            await _send(actor, chain)
        case "late":
            await asyncio.sleep(actor.random.uniform(0.3, 2.0))
            await _send(actor, chain)
        case "at once":
            await asyncio.sleep(actor.random.uniform(0.0, 1.5))
            await asyncio.gather(*(_send(actor, chain) for _ in range(3)))
        case "now and then":
            for _ in range(3):
                await asyncio.sleep(actor.random.uniform(0.0, 0.6))
                await _send(actor, chain)
        case _:
            if actor.random.random() < 0.5:
                async with actor.noting("run_now", chain=chain):
                    await actor.client.run_now(chain)


async def _send(actor: Actor, chain: str) -> None:
    value = new_id()
    async with actor.noting("send", chain=chain, name=MESSAGE, value=value) as facts:
        facts["first"] = await actor.client.send(chain, MESSAGE, value)


async def _retry(actor: Actor, job: str, step: str) -> None:
    async with actor.noting("retry", job=job, from_step=step) as facts:
        facts["job"] = (await actor.client.retry(job, from_step=step)).id
