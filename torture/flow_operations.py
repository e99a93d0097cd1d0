"""The operations of a producer on types with lanes or hooks, and on the schedule."""

from __future__ import annotations

from typing import Any

from holdfast import Bound
from holdfast.core.ids import new_id
from torture.actor import Actor
from torture.checker.flow_control import SEPARATOR
from torture.flow_jobs import BEAT, fragile, meter, ordered, render, serve

LANE = {"serve": "tenant", "ordered": "account"}
"""The parameter that names the lane of a job."""


async def start_limited(actor: Actor) -> None:
    """More jobs than their limits allow at once."""
    seconds = [actor.random.choice((0.0, 0.02, 0.05)) for _ in range(actor.random.randint(3, 8))]
    await actor.start([render.bind(each).options(priority=_priority(actor)) for each in seconds])
    for each in seconds:
        await _start_in_lane(actor, serve.bind(_lane(actor), each))


async def start_ordered(actor: Actor) -> None:
    """Jobs of a few orders. The longest ones fail."""
    for _ in range(actor.random.randint(2, 5)):
        await _start_in_lane(actor, ordered.bind(_lane(actor), actor.random.choice((0.0, 0.02, 0.05, 0.1))))


async def start_metered(actor: Actor) -> None:
    await actor.start([meter.bind() for _ in range(actor.random.choice((2, 5, 15)))])


async def start_fragile(actor: Actor) -> None:
    await actor.start([fragile.bind(actor.random.random() < 0.5) for _ in range(actor.random.randint(1, 3))])


async def fire(actor: Actor) -> None:
    """Fire the schedule while it ticks."""
    for _ in range(3):
        async with actor.noting("fire"):
            await actor.client.fire(BEAT)


def _lane(actor: Actor) -> str:
    return actor.random.choice("abc")


def _priority(actor: Actor) -> int:
    """Jobs of one lane with different priorities are in different tracks, which two workers may claim at once."""
    return actor.random.choice((0, 0, 0, 1, 2))


async def _start_in_lane(actor: Actor, bound: Bound[Any]) -> None:
    """The key says which lane the job has, so that the audit contains it."""
    key = f"{bound.type.decode_input(bound.input)[LANE[bound.type.name]]}{SEPARATOR}{new_id()}"
    await actor.start([bound.options(key=key, priority=_priority(actor))])
