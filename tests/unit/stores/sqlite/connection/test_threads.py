from __future__ import annotations

import threading

from holdfast.stores.sqlite.connection.threads import ThreadPool

TIMEOUT = 60.0


def test_work_that_arrives_during_close_is_done_after_the_earlier_work() -> None:
    threads, done = ThreadPool(1, "test"), list[str]()
    begun, held = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        held.wait(TIMEOUT)
        done.append("begun")

    threads.submit(hold)
    assert begun.wait(TIMEOUT)
    closing = threading.Thread(target=threads.close)
    closing.start()
    while threads._queue.empty():  # pyright: ignore[reportPrivateUsage] # until the thread is asked to end
        pass

    threads.submit(lambda: done.append("late"))
    threads.submit(lambda: done.append("later"))
    held.set()
    closing.join(TIMEOUT)

    assert done == ["begun", "late", "later"]


def test_work_after_close_is_done_by_the_caller() -> None:
    threads, done = ThreadPool(2, "test"), list[str]()
    threads.close()

    threads.submit(lambda: done.append("after"))

    assert done == ["after"]


def test_work_that_submits_work_after_close_does_not_recurse() -> None:
    threads, left = ThreadPool(1, "test"), list(range(10_000))
    threads.close()

    def work() -> None:
        if left:
            left.pop()
            threads.submit(work)

    threads.submit(work)

    assert left == []
