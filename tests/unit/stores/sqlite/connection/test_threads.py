from __future__ import annotations

import threading

from holdfast.stores.sqlite.connection.threads import Threads

TIMEOUT = 10.0


def test_what_comes_while_the_threads_end_is_done_behind_what_they_are_at() -> None:
    threads, done = Threads(1, "test"), list[str]()
    begun, held = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        held.wait(TIMEOUT)
        done.append("begun")

    threads.submit(hold)
    assert begun.wait(TIMEOUT)
    closing = threading.Thread(target=threads.close)
    closing.start()
    while threads._queue.empty():  # pyright: ignore[reportPrivateUsage] # until the thread was told to end
        pass

    threads.submit(lambda: done.append("late"))
    threads.submit(lambda: done.append("later"))
    held.set()
    closing.join(TIMEOUT)

    assert done == ["begun", "late", "later"]


def test_what_comes_after_the_end_is_done_all_the_same() -> None:
    threads, done = Threads(2, "test"), list[str]()
    threads.close()

    threads.submit(lambda: done.append("after"))

    assert done == ["after"]


def test_work_that_asks_for_more_after_the_end_does_not_pile_up() -> None:
    threads, left = Threads(1, "test"), list(range(10_000))
    threads.close()

    def work() -> None:
        if left:
            left.pop()
            threads.submit(work)

    threads.submit(work)

    assert left == []
