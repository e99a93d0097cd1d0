from __future__ import annotations

import queue
import threading
from pathlib import Path

from holdfast.stores.sqlite.writing.write_queue import Turnstile, Waiter, turnstile

PATIENCE = 10.0


def test_those_who_wait_come_in_the_order_they_came() -> None:
    gate, order, inside = Turnstile(), list[int](), Waiter()
    assert gate.enter_sync(inside, 0)
    threads: list[threading.Thread] = []

    def pass_through(number: int) -> None:
        waiter = Waiter()
        assert gate.enter_sync(waiter, PATIENCE)
        order.append(number)
        gate.leave(waiter)

    for number in range(5):
        thread = threading.Thread(target=pass_through, args=(number,))
        thread.start()
        threads.append(thread)
        while len(gate.line) <= number + 1:
            pass
    gate.leave(inside)
    for thread in threads:
        thread.join()

    assert order == [0, 1, 2, 3, 4]
    assert gate.enter_sync(Waiter(), 0)


def test_one_who_waits_too_long_is_not_admitted_later() -> None:
    gate, inside = Turnstile(), Waiter()
    assert gate.enter_sync(inside, 0)

    assert not gate.enter_sync(Waiter(), 0.01)

    gate.leave(inside)
    assert gate.enter_sync(Waiter(), 0)


def test_one_who_lines_up_is_admitted_by_whoever_leaves_and_never_two_at_once() -> None:
    gate, admitted = Turnstile(), queue.SimpleQueue[None]()
    inside = most = 0

    def visit(waiter: Waiter) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        inside -= 1
        gate.leave(waiter)

    def admit_and_visit() -> None:
        for _ in range(200):
            waiter = Waiter(lambda: admitted.put(None))
            gate.line_up(waiter)
            admitted.get(timeout=PATIENCE)
            visit(waiter)

    def wait_and_visit() -> None:
        for _ in range(200):
            waiter = Waiter()
            assert gate.enter_sync(waiter, PATIENCE)
            visit(waiter)

    threads = [threading.Thread(target=visits) for visits in (admit_and_visit, *[wait_and_visit] * 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == 1
    assert gate.enter_sync(Waiter(), 0)


def test_one_who_steps_out_is_passed_over() -> None:
    gate, came = Turnstile(), list[str]()
    first = Waiter(lambda: came.append("first"))
    second = Waiter(lambda: came.append("second"))
    third = Waiter(lambda: came.append("third"))
    for waiter in (first, second, third):
        gate.line_up(waiter)

    assert not gate.step_out(first)
    assert gate.step_out(second)
    gate.leave(first)

    assert came == ["first", "third"]
    assert not gate.step_out(third)


def test_there_is_one_per_file() -> None:
    here = turnstile(Path("/here"))

    assert turnstile(Path("/here")) is here
    assert turnstile(Path("/there")) is not here
