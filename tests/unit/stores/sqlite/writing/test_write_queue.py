from __future__ import annotations

import queue
import threading
from pathlib import Path

from holdfast.stores.sqlite.writing.write_queue import Waiter, WriteQueue, write_queue

TIMEOUT = 10.0


def test_those_who_wait_come_in_the_order_they_came() -> None:
    write_lock, order, inside = WriteQueue(), list[int](), Waiter()
    assert write_lock.enter_sync(inside, 0)
    threads: list[threading.Thread] = []

    def pass_through(number: int) -> None:
        waiter = Waiter()
        assert write_lock.enter_sync(waiter, TIMEOUT)
        order.append(number)
        write_lock.leave(waiter)

    for number in range(5):
        thread = threading.Thread(target=pass_through, args=(number,))
        thread.start()
        threads.append(thread)
        while len(write_lock.waiters) <= number + 1:
            pass
    write_lock.leave(inside)
    for thread in threads:
        thread.join()

    assert order == [0, 1, 2, 3, 4]
    assert write_lock.enter_sync(Waiter(), 0)


def test_one_who_waits_too_long_is_not_admitted_later() -> None:
    write_lock, inside = WriteQueue(), Waiter()
    assert write_lock.enter_sync(inside, 0)

    assert not write_lock.enter_sync(Waiter(), 0.01)

    write_lock.leave(inside)
    assert write_lock.enter_sync(Waiter(), 0)


def test_one_who_lines_up_is_admitted_by_whoever_leaves_and_never_two_at_once() -> None:
    write_lock, admitted = WriteQueue(), queue.SimpleQueue[None]()
    inside = most = 0

    def visit(waiter: Waiter) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        inside -= 1
        write_lock.leave(waiter)

    def admit_and_visit() -> None:
        for _ in range(200):
            waiter = Waiter(lambda: admitted.put(None))
            write_lock.enter(waiter)
            admitted.get(timeout=TIMEOUT)
            visit(waiter)

    def wait_and_visit() -> None:
        for _ in range(200):
            waiter = Waiter()
            assert write_lock.enter_sync(waiter, TIMEOUT)
            visit(waiter)

    threads = [threading.Thread(target=visits) for visits in (admit_and_visit, *[wait_and_visit] * 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == 1
    assert write_lock.enter_sync(Waiter(), 0)


def test_one_who_steps_out_is_passed_over() -> None:
    write_lock, came = WriteQueue(), list[str]()
    first = Waiter(lambda: came.append("first"))
    second = Waiter(lambda: came.append("second"))
    third = Waiter(lambda: came.append("third"))
    for waiter in (first, second, third):
        write_lock.enter(waiter)

    assert not write_lock.withdraw(first)
    assert write_lock.withdraw(second)
    write_lock.leave(first)

    assert came == ["first", "third"]
    assert not write_lock.withdraw(third)


def test_there_is_one_per_file() -> None:
    here = write_queue(Path("/here"))

    assert write_queue(Path("/here")) is here
    assert write_queue(Path("/there")) is not here
