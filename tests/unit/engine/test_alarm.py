"""Rings that come while a wait runs out."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

from holdfast.engine.wakeups import Alarm

PATIENCE = 20.0


def test_no_ring_is_lost_to_a_blocking_wait_that_ends_at_the_same_moment() -> None:
    alarm, received = Alarm(), threading.Semaphore(0)

    def ring() -> None:
        for _ in range(3000):
            alarm.ring()
            assert received.acquire(timeout=PATIENCE), "a ring was lost"

    with _restless():
        ringer = threading.Thread(target=ring)
        ringer.start()
        while ringer.is_alive():
            if alarm.wait_sync(0):
                received.release()
        ringer.join()

    assert not received.acquire(blocking=False)


async def test_no_ring_is_lost_to_a_wait_of_the_loop_that_ends_at_the_same_moment() -> None:
    alarm, received = Alarm(), threading.Semaphore(0)

    def ring() -> None:
        for _ in range(1000):
            alarm.ring()
            assert received.acquire(timeout=PATIENCE), "a ring was lost"

    with _restless():
        ringing = asyncio.create_task(asyncio.to_thread(ring))
        while not ringing.done():
            if await alarm.wait(0):
                received.release()
        await ringing

    assert not received.acquire(blocking=False)


@contextmanager
def _restless() -> Generator[None]:
    """Have threads take turns as often as can be, so that they meet in narrow places."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
