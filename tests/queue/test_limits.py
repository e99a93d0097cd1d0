"""Named queues with limits, rates and orders."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Limit, Order, Queued, Rate
from tests.queue.harness import Handler, Harness, Recorder


def customer(payload: dict[str, Any]) -> int:
    number: int = payload["customer"]
    return number


async def test_at_most_the_limit_of_a_customer_runs_at_once(harness: Harness) -> None:
    limits = [Limit("per-customer", 1, by=customer)]
    handler = Handler(hold=True)
    queue = harness.queue(handler, limits=limits)
    recorder = Recorder(queue)
    async with harness.queue(limits=limits) as producer:
        for id, number in (("a", 7), ("b", 7), ("c", 8)):
            assert await producer.enqueue(id, {"customer": number}) == Queued()
        async with queue:
            await handler.begun(times=2)
            assert sorted(handler.ids) == ["a", "c"]
            handler.let_go()
            await recorder.receive("completed", "b")

    assert sorted(handler.ids) == ["a", "b", "c"]


async def test_a_queue_keeps_an_order_and_a_rate(harness: Harness) -> None:
    limits = [Order("account"), Rate("api", 1, per=60, burst=2)]
    handler = Handler()
    queue = harness.queue(handler, limits=limits)
    recorder = Recorder(queue)
    async with harness.queue(limits=limits) as producer:
        await producer.enqueue_many([("a", 1), ("b", 2)])
        await producer.enqueue("c", 3, priority=9)
        async with queue:
            await recorder.receive("completed", "b")
            assert handler.ids == ["a", "b"]
            harness.clock.advance(60)
            await producer.enqueue("d", 4)  # wakes the consumer, whose clock does not move by itself
            await recorder.receive("completed", "c")

    assert handler.ids == ["a", "b", "c"]


async def test_a_key_function_that_raises_is_refused_before_anything_is_written(harness: Harness) -> None:
    async with harness.queue(limits=[Limit("per-customer", 1, by=customer)]) as queue:
        with pytest.raises(ValueError, match="per-customer"):
            await queue.enqueue("a", {"other": 1})

        assert await queue.status("a") is None
