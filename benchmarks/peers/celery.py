"""Celery on Redis, acknowledging late, so that a crash does not lose a task."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from benchmarks.contender import About, Contender, Place
from benchmarks.ticks import lap, tick


class Celery(Contender):
    name = "Celery"
    about = {  # noqa: RUF012
        "redis": About(
            guarantee="at least once with task_acks_late, after a visibility timeout of an hour; not fenced",
            retention="the message is deleted, its result kept for a day",
            best="prefork with 2 processes, worker_prefetch_multiplier=100, hiredis",
        )
    }
    requirements = ("celery[redis]==5.7.0", "hiredis")
    module = "celery"
    distributions = ("celery", "kombu", "redis")
    drains = (1000, 2000)
    starts = (500, 2000)
    blocking = True

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        library: Any = import_module("celery")
        self._app = library.Celery("benchmark", broker=place.url, backend=place.url)
        self._app.conf.update(task_acks_late=True, worker_prefetch_multiplier=100, worker_hijack_root_logger=False)
        self._redis: Any = import_module("redis").from_url(place.url)

        def add(number: int) -> int:
            tick()
            return number + 1

        def touch(sent: int) -> None:
            lap(sent)

        self._add = self._app.task(name="add")(add)
        self._touch = self._app.task(name="touch", ignore_result=True)(touch)

    def start(self, number: int) -> None:
        self._add.delay(number)

    def start_many(self, numbers: Sequence[int]) -> None:
        """There is no bulk verb: one call after the other, by one producer."""
        with self._app.producer_or_acquire() as producer:
            for number in numbers:
                self._add.apply_async((number,), producer=producer)

    def touch(self, sent: int) -> None:
        self._touch.delay(sent)

    def call(self, number: int) -> int:
        return int(self._add.delay(number).get(timeout=30))

    def left(self) -> int:
        return int(self._redis.llen("celery") + self._redis.hlen("unacked"))

    def work(self, slots: int | None) -> None:
        pool = ["-P", "prefork", "-c", "2"] if slots is None else ["-P", "threads", "-c", str(slots)]
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "ERROR"]
        self._app.worker_main(["worker", *pool, *quiet])
