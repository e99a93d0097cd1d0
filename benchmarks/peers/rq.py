"""RQ on Redis: a process runs one job at a time."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from benchmarks.contender import About, Contender, Place
from benchmarks.ticks import lap, tick


def add(number: int) -> int:
    tick()
    return number + 1


def touch(sent: int) -> None:
    lap(sent)


class Rq(Contender):
    name = "RQ"
    about = {  # noqa: RUF012
        "redis": About(
            guarantee="at most once: a job of a dead worker is marked as failed; not fenced",
            retention="jobs and results are kept for 500 seconds",
            best="SimpleWorker, which does not fork, one job at a time; at concurrency 10 a pool of 10 of them",
        )
    }
    requirements = ("rq==2.12.0", "hiredis")
    module = "rq"
    distributions = ("rq", "redis")
    drains = (800, 800)
    starts = (500, 5000)
    blocking = True

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._library: Any = import_module("rq")
        self._redis: Any = import_module("redis").from_url(place.url)
        self._queue = self._library.Queue(connection=self._redis)

    def start(self, number: int) -> None:
        self._queue.enqueue(add, number)

    def start_many(self, numbers: Sequence[int]) -> None:
        self._queue.enqueue_many([self._library.Queue.prepare_data(add, (number,)) for number in numbers])

    def touch(self, sent: int) -> None:
        self._queue.enqueue(touch, sent)

    def call(self, number: int) -> int:
        return int(self._queue.enqueue(add, number).latest_result(timeout=30).return_value)

    def left(self) -> int:
        return int(self._queue.count + self._queue.started_job_registry.count)

    def work(self, slots: int | None) -> None:
        logging.getLogger("rq.worker").setLevel(logging.ERROR)
        worker: Any = self._library.SimpleWorker
        if slots is None:
            worker([self._queue], connection=self._redis).work(logging_level="ERROR")
        else:
            pools: Any = import_module("rq.worker_pool")
            pool = pools.WorkerPool([self._queue], self._redis, num_workers=slots, worker_class=worker)
            pool.start(logging_level="ERROR")
