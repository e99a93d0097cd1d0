from __future__ import annotations

import queue
import threading
from pathlib import Path

from holdfast.stores.sqlite.writing.write_queue import Waiter, WriteQueue, write_queue

TIMEOUT = 60.0


def test_waiters_are_admitted_in_the_order_of_arrival() -> None:
    writes, order, inside = WriteQueue(), list[int](), Waiter()
    assert writes.enter_sync(inside, 0)
    threads: list[threading.Thread] = []

    def pass_through(number: int) -> None:
        waiter = Waiter()
        assert writes.enter_sync(waiter, TIMEOUT)
        order.append(number)
        writes.leave(waiter)

    for number in range(5):
        thread = threading.Thread(target=pass_through, args=(number,))
        thread.start()
        threads.append(thread)
        while len(writes.waiters) <= number + 1:
            pass
    writes.leave(inside)
    for thread in threads:
        thread.join()

    assert order == [0, 1, 2, 3, 4]
    assert writes.enter_sync(Waiter(), 0)


def test_a_waiter_that_timed_out_is_not_admitted_later() -> None:
    writes, inside = WriteQueue(), Waiter()
    assert writes.enter_sync(inside, 0)

    assert not writes.enter_sync(Waiter(), 0.01)

    writes.leave(inside)
    assert writes.enter_sync(Waiter(), 0)


def test_the_leaving_waiter_admits_the_next_and_never_two_at_a_time() -> None:
    writes, admitted = WriteQueue(), queue.SimpleQueue[None]()
    inside = most = 0

    def visit(waiter: Waiter) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        inside -= 1
        writes.leave(waiter)

    def admit_and_visit() -> None:
        for _ in range(200):
            waiter = Waiter(lambda: admitted.put(None))
            writes.enter(waiter)
            admitted.get(timeout=TIMEOUT)
            visit(waiter)

    def wait_and_visit() -> None:
        for _ in range(200):
            waiter = Waiter()
            assert writes.enter_sync(waiter, TIMEOUT)
            visit(waiter)

    threads = [threading.Thread(target=visits) for visits in (admit_and_visit, *[wait_and_visit] * 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == 1
    assert writes.enter_sync(Waiter(), 0)


def test_a_withdrawn_waiter_is_skipped() -> None:
    writes, came = WriteQueue(), list[str]()
    first = Waiter(lambda: came.append("first"))
    second = Waiter(lambda: came.append("second"))
    third = Waiter(lambda: came.append("third"))
    for waiter in (first, second, third):
        writes.enter(waiter)

    assert not writes.withdraw(first)
    assert writes.withdraw(second)
    writes.leave(first)

    assert came == ["first", "third"]
    assert not writes.withdraw(third)


def test_a_file_has_one_write_queue() -> None:
    here = write_queue(Path("/here"))

    assert write_queue(Path("/here")) is here
    assert write_queue(Path("/there")) is not here
