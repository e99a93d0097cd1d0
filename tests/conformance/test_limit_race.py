"""Eight threads claim and settle jobs of one lane. At no time do more of them run than the limit allows."""

from __future__ import annotations

import threading

from holdfast.core.ids import new_token
from holdfast.engine.operations import ClaimJobs, Settle, Start, TypeTerms
from holdfast.testing.builders import completed
from holdfast.testing.conformance import StoreFactory
from holdfast.testing.lanes import laned, limit

JOBS = 400
THREADS = 8
LIMIT = 2


def test_eight_threads_never_exceed_a_limit_of_two(make_store: StoreFactory) -> None:
    stores = [make_store() for _ in range(THREADS)]
    for store in stores:
        store.open_sync()
    try:
        stores[0].perform_sync(Start(tuple(laned(limit(LIMIT)) for _ in range(JOBS))))
        lock, running, most, done = threading.Lock(), 0, 0, 0
        ready = threading.Barrier(THREADS)
        deadline = threading.Event()

        def work(number: int) -> None:
            nonlocal running, most, done
            store = stores[number]
            ready.wait()
            while done < JOBS and not deadline.is_set():
                claim = ClaimJobs((TypeTerms("resize", 60_000_000, 25),), 3, f"worker-{number}", new_token())
                jobs = store.perform_sync(claim)
                with lock:
                    running += len(jobs)
                    most = max(most, running)
                for job in jobs:
                    with lock:
                        running -= 1
                    (settled,) = store.perform_sync(Settle((completed(job),)))
                    assert settled.written
                    with lock:
                        done += 1

        threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        deadline.set()

        assert done == JOBS
        assert 1 <= most <= LIMIT
    finally:
        for store in stores:
            store.close_sync()
