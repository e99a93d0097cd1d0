"""Wake-ups within a process, and the alarm that a sleeper waits on."""

from __future__ import annotations

import asyncio
import threading

import pytest

from holdfast.engine.wakeups import ANYTHING, Alarm, Hints, LocalWakeups, NoWakeups

PATIENCE = 20.0


def test_hints_of_nothing_are_false() -> None:
    assert not Hints()
    assert ANYTHING
    for hints in (Hints(due={"a"}), Hints(finished={"a"}), Hints(lost={"a"}), Hints(recorded=True)):
        assert hints


def test_every_subscriber_hears_until_it_unsubscribes() -> None:
    wakeups = LocalWakeups()
    one: list[Hints] = []
    two: list[Hints] = []
    leave = wakeups.subscribe(one.append)
    wakeups.subscribe(two.append)

    wakeups.send(ANYTHING)
    leave()
    leave()
    wakeups.send(ANYTHING)

    assert (len(one), len(two)) == (1, 2)
    assert wakeups.healthy


def test_a_subscriber_may_unsubscribe_while_it_is_called() -> None:
    wakeups = LocalWakeups()
    received: list[Hints] = []

    def once(hints: Hints) -> None:
        received.append(hints)
        leave()

    leave = wakeups.subscribe(once)
    wakeups.subscribe(received.append)
    wakeups.send(ANYTHING)
    wakeups.send(ANYTHING)

    assert len(received) == 3


def test_without_wakeups_nobody_hears_and_workers_are_told_so() -> None:
    wakeups, received = NoWakeups(), list[Hints]()
    wakeups.subscribe(received.append)()

    wakeups.send(ANYTHING)

    assert (received, wakeups.healthy) == ([], False)


async def test_a_ring_before_the_wait_ends_it_at_once_and_only_once() -> None:
    alarm = Alarm()
    alarm.ring()
    alarm.ring()

    assert alarm.wait_sync(0)
    assert not alarm.wait_sync(0)

    alarm.ring()
    assert await alarm.wait(0)
    assert not await alarm.wait(0)


async def test_a_ring_in_the_loop_ends_a_wait_of_the_loop() -> None:
    alarm = Alarm()
    waiting = asyncio.create_task(alarm.wait(PATIENCE))
    await asyncio.sleep(0)

    alarm.ring()

    assert await waiting


async def test_a_ring_from_a_thread_ends_a_wait_of_the_loop() -> None:
    alarm = Alarm()
    waiting = asyncio.create_task(alarm.wait(PATIENCE))
    await asyncio.sleep(0)

    await asyncio.to_thread(alarm.ring)

    assert await waiting


def test_a_ring_from_a_thread_ends_a_blocking_wait() -> None:
    alarm = Alarm()
    ringer = threading.Thread(target=alarm.ring)
    ringer.start()

    assert alarm.wait_sync(PATIENCE)
    ringer.join()


async def test_a_cancelled_wait_leaves_the_ring_to_the_next() -> None:
    alarm = Alarm()
    waiting = asyncio.create_task(alarm.wait(PATIENCE))
    await asyncio.sleep(0)
    waiting.cancel()
    alarm.ring()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert await alarm.wait(0)


def test_ringing_after_the_loop_is_gone_disturbs_nobody() -> None:
    alarm = Alarm()
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(alarm.wait(PATIENCE))
    loop.run_until_complete(asyncio.sleep(0))
    waiting.cancel()
    loop.run_until_complete(asyncio.gather(waiting, return_exceptions=True))
    loop.close()

    alarm.ring()

    assert alarm.wait_sync(0)
