"""The short form of the details with one limit or order: callers and scripts read the same as from JSON."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Attempt, Client, Jobs, Limit, Order, Worker
from holdfast.core.details import JobDetails, epoch_of, lanes_of, write_details
from holdfast.core.job import Chain
from holdfast.core.lanes import LaneKind, LaneRule, job_lanes, lane_id
from holdfast.core.retry import Retry
from holdfast.engine.operations import GetJobs
from holdfast.errors import ChainFailed
from holdfast.stores.redis.verbs.short_details import lengthen, shorten
from tests.servers.redis import RedisServer

KEYS = ("", "7", 'a"b\\c', "a/b", "é漢", "\x01\x1f\x7f", "]}}")

jobs = Jobs()


@jobs.job(limits=[Limit("lane", 1, by="key")], retry=Retry(initial=1, max_attempts=1))
async def limited(attempt: Attempt, key: str) -> None:
    await attempt.step("add", str, 1)
    raise ValueError(key)


@jobs.job(limits=[Order("account", by="key")], retry=Retry(initial=1, max_attempts=1))
async def ordered(attempt: Attempt, key: str) -> None:
    await attempt.step("add", str, 1)
    raise ValueError(key)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("kind", ["limit", "order"])
@pytest.mark.parametrize("type", ["mail", 'send "mail"'])
def test_the_long_form_is_the_text_that_was_shortened(type: str, kind: LaneKind, key: str) -> None:
    details = _details(type, LaneRule(lane_id("lane", key), kind), priority=-3)

    stored = shorten(details, type, -3)

    assert details is not None
    assert stored is not None
    assert len(stored) < len(details) / 2
    assert lengthen(stored, type, -3) == details


@pytest.mark.parametrize(
    "rule",
    [
        LaneRule(lane_id("lane", "7"), "limit", number=2),
        LaneRule(lane_id("lane", "7"), "order", chain=True),
        LaneRule(lane_id("lane", "7"), "rate"),
    ],
)
def test_other_lanes_stay_json(rule: LaneRule) -> None:
    details = _details("mail", rule, priority=0)

    assert shorten(details, "mail", 0) == details
    assert lengthen(details, "mail", 0) == details


@pytest.mark.parametrize("job", [limited, ordered])
@pytest.mark.parametrize("key", KEYS[1:])
async def test_a_retry_from_a_step_keeps_the_lanes(server: RedisServer, job: Any, key: str) -> None:
    async with Client(server.address(), jobs) as client:
        chain: Chain[None] = await client.start(job.bind(key))
        (before,) = await client.store.perform(GetJobs((chain.id,)))
        async with Worker(client):
            with pytest.raises(ChainFailed):
                await client.wait(chain, timeout=30)
        await client.retry(chain, from_step="add")
        (after,) = await client.store.perform(GetJobs((chain.id,)))

    assert before is not None
    assert after is not None
    assert lanes_of(after.details) == lanes_of(before.details)
    assert lanes_of(after.details) is not None
    assert epoch_of(after.details) == 1


def _details(type: str, rule: LaneRule, *, priority: int) -> str | None:
    return write_details(JobDetails(lanes=job_lanes(type, priority, (rule,), rule.lane)))
