from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from holdfast.stores.sqlite.turnstile import Turnstile, turnstile

PATIENCE = 10.0


def test_those_who_wait_come_in_the_order_they_came() -> None:
    gate, order = Turnstile(), list[int]()
    assert gate.enter_sync(0)
    threads: list[threading.Thread] = []

    def pass_through(number: int) -> None:
        assert gate.enter_sync(PATIENCE)
        order.append(number)
        gate.leave()

    for number in range(5):
        thread = threading.Thread(target=pass_through, args=(number,))
        thread.start()
        threads.append(thread)
        while len(gate._waiting) <= number:  # pyright: ignore[reportPrivateUsage]
            pass
    gate.leave()
    for thread in threads:
        thread.join()

    assert order == [0, 1, 2, 3, 4]
    assert gate.enter_sync(0)


def test_one_who_waits_too_long_is_not_admitted_later() -> None:
    gate = Turnstile()
    assert gate.enter_sync(0)

    assert not gate.enter_sync(0.01)

    gate.leave()
    assert gate.enter_sync(0)


async def test_tasks_and_threads_share_it() -> None:
    gate = Turnstile()
    inside = 0
    most = 0

    def visit() -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        inside -= 1
        gate.leave()

    def in_thread() -> None:
        for _ in range(200):
            assert gate.enter_sync(PATIENCE)
            visit()

    async def in_task() -> None:
        for _ in range(100):
            assert await gate.enter(PATIENCE)
            visit()

    threads = [threading.Thread(target=in_thread) for _ in range(3)]
    for thread in threads:
        thread.start()
    await asyncio.gather(*[in_task() for _ in range(3)])
    for thread in threads:
        await asyncio.to_thread(thread.join)

    assert most == 1


async def test_a_cancelled_task_passes_its_turn_on() -> None:
    gate = Turnstile()
    assert await gate.enter(0)
    waiting = [asyncio.ensure_future(gate.enter(PATIENCE)) for _ in range(3)]
    await asyncio.sleep(0)

    waiting[0].cancel()
    gate.leave()
    waiting[1].cancel()

    assert await waiting[2]
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_task_too_late_gives_up() -> None:
    gate = Turnstile()
    assert await gate.enter(0)

    assert not await gate.enter(0.01)

    gate.leave()
    assert await gate.enter(0)


def test_one_whose_loop_is_closed_is_passed_over() -> None:
    gate = Turnstile()
    assert gate.enter_sync(0)

    async def abandon() -> None:
        asyncio.ensure_future(gate.enter(PATIENCE))  # noqa: RUF006 - abandoned on purpose
        await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(abandon())
    pending = asyncio.all_tasks(loop)
    loop.close()
    gate.leave()

    assert gate.enter_sync(PATIENCE)
    for task in pending:
        task._log_destroy_pending = False  # type: ignore[attr-defined]


def test_there_is_one_per_file() -> None:
    here = turnstile(Path("/here"))

    assert turnstile(Path("/here")) is here
    assert turnstile(Path("/there")) is not here
