"""Flags that end a wait."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from holdfast.engine.wake_flag import WakeFlag

TIMEOUT = 60.0


async def test_a_flag_that_is_already_set_ends_one_wait_at_once() -> None:
    wake_flag = WakeFlag()
    wake_flag.set()
    wake_flag.set()

    assert wake_flag.wait_sync(0)
    assert not wake_flag.wait_sync(0)

    wake_flag.set()
    assert await wake_flag.wait(0)
    assert not await wake_flag.wait(0)


async def test_setting_the_flag_in_the_event_loop_ends_an_async_wait() -> None:
    wake_flag = WakeFlag()
    waiting = asyncio.create_task(wake_flag.wait(TIMEOUT))
    await asyncio.sleep(0)

    wake_flag.set()

    assert await waiting


async def test_setting_the_flag_in_a_thread_ends_an_async_wait() -> None:
    wake_flag = WakeFlag()
    waiting = asyncio.create_task(wake_flag.wait(TIMEOUT))
    await asyncio.sleep(0)

    await asyncio.to_thread(wake_flag.set)

    assert await waiting


def test_setting_the_flag_in_a_thread_ends_a_blocking_wait() -> None:
    wake_flag = WakeFlag()
    setter = threading.Thread(target=wake_flag.set)
    setter.start()

    assert wake_flag.wait_sync(TIMEOUT)
    setter.join()


async def test_a_cancelled_wait_leaves_the_flag_set() -> None:
    wake_flag = WakeFlag()
    waiting = asyncio.create_task(wake_flag.wait(TIMEOUT))
    await asyncio.sleep(0)
    waiting.cancel()
    wake_flag.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert await wake_flag.wait(0)


def test_the_flag_can_be_set_after_the_event_loop_is_closed() -> None:
    wake_flag = WakeFlag()
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(wake_flag.wait(TIMEOUT))
    loop.run_until_complete(asyncio.sleep(0))
    waiting.cancel()
    loop.run_until_complete(asyncio.gather(waiting, return_exceptions=True))
    loop.close()

    wake_flag.set()

    assert wake_flag.wait_sync(0)


def test_no_set_is_lost_when_a_blocking_wait_times_out_at_the_same_moment() -> None:
    wake_flag, received = WakeFlag(), threading.Semaphore(0)

    def set_repeatedly() -> None:
        for _ in range(3000):
            wake_flag.set()
            assert received.acquire(timeout=TIMEOUT), "a set was lost"

    with _frequent_thread_switches():
        setter = threading.Thread(target=set_repeatedly)
        setter.start()
        while setter.is_alive():
            if wake_flag.wait_sync(0):
                received.release()
        setter.join()

    assert not received.acquire(blocking=False)


async def test_no_set_is_lost_when_an_async_wait_times_out_at_the_same_moment() -> None:
    wake_flag, received = WakeFlag(), threading.Semaphore(0)

    def set_repeatedly() -> None:
        for _ in range(1000):
            wake_flag.set()
            assert received.acquire(timeout=TIMEOUT), "a set was lost"

    with _frequent_thread_switches():
        setting = asyncio.create_task(asyncio.to_thread(set_repeatedly))
        while not setting.done():
            if await wake_flag.wait(0):
                received.release()
        await setting

    assert not received.acquire(blocking=False)


@contextmanager
def _frequent_thread_switches() -> Generator[None]:
    """Switch threads as often as possible, so that races happen."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
