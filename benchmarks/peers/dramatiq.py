"""Dramatiq on Redis."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from benchmarks.contender import About, Contender, Place
from benchmarks.ticks import lap, tick


class Dramatiq(Contender):
    name = "Dramatiq"
    about = {  # noqa: RUF012
        "redis": About(
            guarantee="at least once, unacknowledged messages come back after a minute without a heartbeat; not fenced",
            retention="the message is deleted, its result kept for ten minutes",
            best="8 threads, dramatiq_queue_prefetch=200, hiredis",
        )
    }
    requirements = ("dramatiq[redis]==2.2.1", "hiredis")
    module = "dramatiq"
    distributions = ("dramatiq", "redis")
    drains = (3000, 5000)
    starts = (1000, 5000)
    blocking = True

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        os.environ.setdefault("dramatiq_queue_prefetch", "200")
        self._library: Any = import_module("dramatiq")
        brokers: Any = import_module("dramatiq.brokers.redis")
        results: Any = import_module("dramatiq.results")
        backends: Any = import_module("dramatiq.results.backends")
        self._broker = brokers.RedisBroker(url=place.url)
        self._broker.add_middleware(results.Results(backend=backends.RedisBackend(url=place.url)))
        self._library.set_broker(self._broker)

        def add(number: int) -> int:
            tick()
            return number + 1

        def touch(sent: int) -> None:
            lap(sent)

        self._add = self._library.actor(actor_name="add", store_results=True)(add)
        self._touch = self._library.actor(actor_name="touch")(touch)

    def start(self, number: int) -> None:
        self._add.send(number)

    def start_many(self, numbers: Sequence[int]) -> None:
        """There is no bulk verb: a group sends one message after the other."""
        self._library.group(self._add.message(number) for number in numbers).run()

    def touch(self, sent: int) -> None:
        self._touch.send(sent)

    def call(self, number: int) -> int:
        return int(self._add.send(number).get_result(block=True, timeout=30000))

    def left(self) -> int:
        client = self._broker.client
        unacknowledged = sum(client.scard(key) for key in client.scan_iter("dramatiq:__acks__.*", count=1000))
        return int(client.llen("dramatiq:default") + unacknowledged)

    def work(self, slots: int | None) -> None:
        self._library.Worker(self._broker, worker_threads=slots or 8, worker_timeout=100).start()
        signal.pause()
