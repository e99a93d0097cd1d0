"""The operations of a producer, each with its weight in the mix."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from holdfast import Chain, HoldfastError
from holdfast.core.ids import new_id
from holdfast.registry.options import OnBlockerFailure
from torture import payloads, plans
from torture.actor import Actor
from torture.elastic import elastic
from torture.flow_operations import fire, start_fragile, start_limited, start_metered, start_ordered
from torture.jobs import (
    approval,
    brief,
    echo,
    errand,
    gather,
    hostile,
    keyed,
    link,
    mutual,
    poison,
    vague,
    work,
)  # fmt: skip
from torture.step_operations import retry_from_step, start_steps

POLICIES: tuple[OnBlockerFailure, ...] = ("wait", "fail")

Operation = Callable[[Actor], Coroutine[Any, Any, None]]


async def start_one(actor: Actor) -> None:
    await actor.start([plans.step(actor.random, actor.settings)])


async def start_slow(actor: Actor) -> None:
    await actor.start([work.bind(plans.slow(actor.random, actor.settings))])


async def start_with_business(actor: Actor) -> None:
    """A business row and a chain in a transaction of the application. One in five is rolled back."""
    if not actor.settings.transactional:
        await start_one(actor)
        return
    id, rollback = new_id(), actor.random.random() < 0.2
    bound = plans.step(actor.random, actor.settings).options(id=id)
    call = actor.history.invoke("start", ids=[id], type=bound.type.name, business=True, rollback=rollback)
    outcome, facts = await actor.business.start(actor.client, bound, id, rollback=rollback)
    actor.history.answer(call, outcome, **facts)
    if outcome == "ok":
        actor.recent.append(id)


LONG = 8.0
"""Seconds: longer than a worker may take to detect that its claim was lost."""
MANY = 7
"""Odd values per call: in three minutes each of them is used several times."""
STEP = 100
"""Chains that one script of a start writes on a store without transactions (BATCH_SIZE of the Redis store)."""
BATCHES = {2: 25, 3: 25, 5: 25, 20: 25, 100: 6, 300: 3, 1000: 1, 2000: 1, 5000: 0.5}
"""Sizes of a batch, with their weights. Sizes above the limit of the profile are left out."""
WIDTHS = {2: 25, 3: 20, 4: 20, 5: 15, 10: 12, 20: 6, 50: 1, 100: 1}
"""Numbers of blockers, with their weights. The large ones exceed the slots of a worker: several workers end them."""


def _size(actor: Actor, sizes: Mapping[int, float], most: int) -> int:
    able = {size: share for size, share in sizes.items() if size <= most}
    return actor.random.choices(list(able), list(able.values()))[0]


async def start_batch(actor: Actor) -> None:
    """Start many chains with one call. In large batches each job is short: the batch tests that all are stored."""
    number = _size(actor, BATCHES, actor.settings.largest)
    if number <= 20:
        bounds = [plans.step(actor.random, actor.settings) for _ in range(number)]
    else:
        bounds = [work.bind(plans.instant(actor.random)) for _ in range(number)]
    await actor.start(bounds, together=number if actor.settings.transactional else STEP)


async def start_chain(actor: Actor) -> None:
    await actor.start([link.bind(plans.plan(actor.random, actor.settings), actor.random.randint(2, 6))])


async def start_fan_in(actor: Actor) -> None:
    """Several chains that end at about the same time, and a job that is blocked by all of them."""
    number = _size(actor, WIDTHS, actor.settings.widest)
    brisk = [link.bind(plans.brisk(actor.random), actor.random.randint(1, 2)) for _ in range(number)]
    blockers = await actor.start(brisk)
    if not blockers:
        return
    ids = [chain.id for chain in blockers]
    # Sometimes several jobs have the same blockers: the end of a blocker must lock all of them.
    await asyncio.gather(*(_start_gather(actor, ids) for _ in range(actor.random.choice((1, 1, 3)))))


async def _start_gather(actor: Actor, ids: list[str]) -> None:
    id, policy = new_id(), actor.random.choice(POLICIES)
    bound = gather.bind(plans.brisk(actor.random), len(ids))
    async with actor.noting("start", ids=[id], type="gather", after={id: ids}, policy=policy) as facts:
        chain = await actor.client.start(bound, id=id, after=ids, on_blocker_failure=policy)
        facts["found"], facts["deduplicated"] = [chain.id], [chain.deduplicated]


async def start_mutual(actor: Actor) -> None:
    """Two chains, each of which continues after the other. They are not candidates for cancel and delete."""
    ids = [new_id(), new_id()]
    bounds = [mutual.bind(other).options(id=id) for id, other in zip(ids, reversed(ids), strict=True)]
    async with actor.noting("start", ids=ids, type="mutual") as facts:
        chains = await actor.client.start_many(bounds)
        facts["found"] = [chain.id for chain in chains]
        facts["deduplicated"] = [chain.deduplicated for chain in chains]


async def start_keyed(actor: Actor) -> None:
    """Several starts at once with one key. The first key is the most frequent one."""
    key = f"k{min(int(actor.random.paretovariate(0.8)), 30)}"
    plan = plans.brisk(actor.random)
    bound = keyed.bind(plan).options(key=key)
    calls = [actor.start([bound], keyed=True, key=key) for _ in range(actor.random.randint(1, 4))]
    await asyncio.gather(*calls)


async def request(actor: Actor) -> None:
    """Start a chain and wait for it, with a short or a long timeout."""
    chains = await actor.start([plans.step(actor.random, actor.settings)])
    if chains:
        timeout = actor.random.choice((0.05, 0.5, 10.0, 10.0))
        await asyncio.gather(*(actor.wait(chains[0].id, timeout) for _ in range(actor.random.randint(1, 2))))


async def complete(actor: Actor) -> None:
    """Several callers complete one chain from outside, in half of the cases while a worker runs it."""
    if actor.random.random() < 0.5:
        chains = await actor.start([approval.bind(1)])
    else:
        chains = await _errand(actor, 1.5)
    if chains:
        calls = [_complete(actor, chains[0].id) for _ in range(actor.random.randint(2, 3))]
        await asyncio.gather(*calls, actor.wait(chains[0].id, 10.0))


async def _complete(actor: Actor, chain: str) -> None:
    async with actor.noting("complete", chain=chain) as facts, actor.client.completing(chain) as current:
        facts["job"] = current.job.id
        await asyncio.sleep(0)
        await current.output("from outside")


async def _errand(actor: Actor, most: float) -> list[Chain[Any]]:
    """Start a job and return when it probably runs. In a long run some of these jobs run for LONG seconds."""
    long = actor.settings.supervised and actor.random.random() < 0.4
    chains = await actor.start([errand.bind(LONG if long else actor.random.uniform(0.05, most))])
    await asyncio.sleep(actor.random.uniform(0.0, 2.0 if long else 0.6))
    return chains


async def cancel(actor: Actor) -> None:
    if (chain := actor.chosen()) is not None:
        async with actor.noting("cancel", chain=chain) as facts:
            facts["status"] = str((await actor.client.cancel(chain)).status)


async def cancel_at_once(actor: Actor) -> None:
    """Cancel a job that has just begun to run."""
    chains = await _errand(actor, 1.0)
    if chains:
        async with actor.noting("cancel", chain=chains[0].id) as facts:
            facts["status"] = str((await actor.client.cancel(chains[0].id)).status)


async def delay(actor: Actor) -> None:
    """Start with a delay; in 30% of the cases, call `run_now`."""
    seconds = actor.random.uniform(0.1, 2.0)
    chains = await actor.start([plans.step(actor.random, actor.settings).options(delay=seconds)], delay=seconds)
    if chains and actor.random.random() < 0.3:
        async with actor.noting("run_now", chain=chains[0].id):
            await actor.client.run_now(chains[0].id)


async def operate(actor: Actor) -> None:
    """An operator's call: retry, delete, pause and resume, or stats."""
    match actor.random.choice(("retry", "retry", "delete", "pause", "stats")):
        case "retry":
            page = await _failed(actor)
            if page:
                job = actor.random.choice(page)
                async with actor.noting("retry", job=job) as facts:
                    facts["job"] = (await actor.client.retry(job)).id
        case "delete":
            if (chain := actor.chosen()) is not None:
                async with actor.noting("delete", chains=[chain]) as facts:
                    facts["deleted"] = await actor.client.delete([chain])
        case "pause":
            async with actor.noting("pause", type="keyed"):
                await actor.client.pause("keyed")
            await asyncio.sleep(0.3)
            async with actor.noting("resume", type="keyed"):
                await actor.client.resume("keyed")
        case _:
            async with actor.noting("stats") as facts:
                facts["total"] = sum((await actor.client.stats()).counts.values())


async def _failed(actor: Actor) -> list[str]:
    async with actor.noting("list"):
        page = await actor.client.list_jobs(status=["failed", "cancelled"], limit=20)
        # Not poison: the limit of its attempts is part of the test.
        return [job.id for job in page.items if job.type not in ("poison", "keyed")]
    return []


async def odd(actor: Actor) -> None:
    """Round trips of the next odd values, and values that must be refused."""
    await asyncio.gather(*(_echo(actor, next(actor.odd)) for _ in range(MANY)))
    for name, refused in payloads.REFUSED.items():
        async with actor.noting("refuse", value=name, large=name == "too large") as facts:
            facts["error"] = "nothing"
            try:
                echo.bind(refused())
            except HoldfastError as error:
                facts["error"] = type(error).__name__


async def _echo(actor: Actor, value: Any) -> None:
    id = new_id()
    # `client.run` starts the chain itself: record a start with an unknown outcome.
    actor.history.invoke("start", ids=[id], type="echo")
    async with actor.noting("echo", value=payloads.name(value), chain=id) as facts:
        got = await actor.client.run(echo.bind(value).options(id=id), timeout=20)
        facts["equal"], facts["got"] = payloads.same(got, value), payloads.name(got)


async def start_hostile(actor: Actor) -> None:
    """Hostile text as input and as key."""
    text = actor.random.choice(payloads.HOSTILE)
    await actor.start([hostile.bind(text).options(key=text)], key=text)


async def start_elastic(actor: Actor) -> None:
    """A burst for the supervised processes."""
    if actor.settings.supervised:
        number = actor.random.randint(6, 24)
        await actor.start([elastic.bind(actor.random.uniform(0.2, 0.6)) for _ in range(number)])


async def start_brief(actor: Actor) -> None:
    await actor.start([brief.bind()])


async def start_vague(actor: Actor) -> None:
    await actor.start([vague.bind()])


async def start_poison(actor: Actor) -> None:
    if actor.settings.harsh:
        await actor.start([poison.bind()])


OPERATIONS: dict[Operation, int] = {
    start_one: 110,
    start_slow: 20,
    start_with_business: 200,
    start_batch: 60,
    start_chain: 150,
    start_fan_in: 80,
    start_mutual: 20,
    start_keyed: 80,
    request: 60,
    complete: 50,
    cancel: 40,
    cancel_at_once: 30,
    delay: 40,
    operate: 50,
    odd: 20,
    start_hostile: 12,
    start_elastic: 12,
    start_limited: 30,
    start_ordered: 30,
    start_metered: 20,
    start_fragile: 20,
    fire: 20,
    start_steps: 60,
    retry_from_step: 20,
    start_brief: 20,
    start_vague: 8,
    start_poison: 5,
}


def favouring(names: tuple[str, ...], *, alone: bool = False) -> dict[Operation, int]:
    """The mix with higher weights for these operations, or these alone. Slow ones get less: other jobs find slots."""
    named = {operation.__name__: operation for operation in OPERATIONS}
    often = {named[name]: 120 if name == "start_slow" else 500 for name in names}
    return often if alone else OPERATIONS | often
