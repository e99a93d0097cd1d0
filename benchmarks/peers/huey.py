"""Huey on Redis and on SQLite."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from benchmarks.contender import About, Contender, Place
from benchmarks.ticks import lap, tick

_GUARANTEE = "at most once: a task is gone from the queue before it runs"
_RETENTION = "the task is deleted, its result kept until it is read"


class Huey(Contender):
    name = "Huey"
    about = {  # noqa: RUF012
        "redis": About(_GUARANTEE, _RETENTION, "4 threads, blocking pops, results notified, hiredis"),
        "sqlite": About(
            _GUARANTEE + "; synchronous=FULL here", _RETENTION, "1 thread, fsync=True, polling every millisecond"
        ),
    }
    requirements = ("huey==3.5.4", "redis", "hiredis")
    module = "huey"
    distributions = ("huey", "redis")
    drains = (3000, 4000)
    starts = (1000, 5000)
    blocking = True

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        library: Any = import_module("huey")
        logging.getLogger("huey").setLevel(logging.ERROR)
        if place.store == "redis":
            self._huey = library.RedisHuey("benchmark", url=place.url, notify_result=True)
        else:
            self._huey = library.SqliteHuey("benchmark", filename=place.url, fsync=True)
        self._sent = 0

        def add(number: int) -> int:
            tick()
            return number + 1

        def touch(sent: int) -> None:
            lap(sent)

        self._add = self._huey.task(name="add")(add)
        self._touch = self._huey.task(name="touch")(touch)

    def start(self, number: int) -> None:
        self._add(number)

    def start_many(self, numbers: Sequence[int]) -> None:
        """There is no bulk verb: `map` sends one task after the other."""
        self._sent += len(numbers)
        self._add.map(numbers)

    def touch(self, sent: int) -> None:
        self._touch(sent)

    def call(self, number: int) -> int:
        return int(self._add(number).get(blocking=True, timeout=30, backoff=1, max_delay=0.001))

    def left(self) -> int:
        """A task is settled when its result is there."""
        return int(self._sent - self._huey.result_count())

    def work(self, slots: int | None) -> None:
        best = 4 if self.place.store == "redis" else 1
        consumer = self._huey.create_consumer(
            workers=slots or best, initial_delay=0.001, max_delay=0.002, backoff=1.1, check_worker_health=False
        )
        consumer.run()
