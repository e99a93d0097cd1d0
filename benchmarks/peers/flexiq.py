"""FlexiQ on PostgreSQL, Redis and SQLite: a queue in Rust with handlers in Python's threads."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from benchmarks.contender import SCHEDULES, About, Contender, Place, Unsupported
from benchmarks.ticks import lap, lap_of_second, tick

_GUARANTEE = "at least once, stale jobs are reaped after their timeout; not fenced"
_BEST = "4 threads, scheduler_batch_size=100, polling every millisecond; pushed, backlogs drain slower"


class FlexiQ(Contender):
    name = "FlexiQ"
    about = {  # noqa: RUF012
        "postgres": About(_GUARANTEE, "jobs and results are kept", _BEST),
        "redis": About(_GUARANTEE, "jobs and results are kept", _BEST),
        "sqlite": About(
            _GUARANTEE + "; synchronous=NORMAL, a power failure may undo commits", "jobs and results are kept", _BEST
        ),
    }
    requirements = ("flexiq==2.1.0",)
    module = "flexiq"
    distributions = ("flexiq",)
    drains = (1000, 3000)
    starts = (500, 10000)
    capped = 500
    blocking = True

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._open(4)

    def start(self, number: int) -> None:
        self._add.delay(number)

    def start_many(self, numbers: Sequence[int]) -> None:
        self._add.map([(number,) for number in numbers])

    def load(self, kind: str, numbers: Sequence[int]) -> int:
        """A `capped` job has `max_concurrent`, the limit of running jobs of its task in all workers."""
        task = {"plain": self._add, "capped": self._capped}.get(kind)
        if task is None:
            raise Unsupported(f"no {kind} jobs")
        task.map([(number,) for number in numbers])
        return len(numbers)

    def touch(self, sent: int) -> None:
        self._touch.delay(sent)

    def call(self, number: int) -> int:
        return int(self._add.delay(number).result(timeout=30, poll_interval=0.001, max_poll_interval=0.005))

    def left(self) -> int:
        stats = self._queue.stats()
        return int(stats["pending"] + stats["running"])

    def work(self, slots: int | None) -> None:
        if slots is not None:
            self._open(slots)
        self._queue.run_worker()

    def _open(self, threads: int) -> None:
        library: Any = import_module("flexiq")
        place = self.place
        where: dict[str, Any] = {"backend": place.store}
        if place.store == "sqlite":
            where["db_path"] = place.url
        else:
            where["db_url"] = place.url
        queue = library.Queue(
            workers=threads, scheduler_batch_size=100, scheduler_poll_interval_ms=1, scheduler_reap_interval=5000,
            scheduler_cleanup_interval=60_000, push_dispatch=False, **where,
        )  # fmt: skip

        def add(number: int) -> int:
            tick()
            return number + 1

        def touch(sent: int) -> None:
            lap(sent)

        self._queue = queue
        self._add = queue.task(name="add")(add)
        self._capped = queue.task(name="capped", max_concurrent=2)(add)
        self._touch = queue.task(name="touch")(touch)


class FlexiQAsync(FlexiQ):
    """The same starts from async code: to a thread and back, as ours are."""

    name = "FlexiQ async"
    about = {"sqlite": FlexiQ.about["sqlite"]}  # noqa: RUF012
    blocking = False
    only = frozenset({"starting"})

    async def start(self, number: int) -> None:  # type: ignore[override]
        await self._queue.aenqueue(task_name="add", args=(number,))

    async def start_many(self, numbers: Sequence[int]) -> None:  # type: ignore[override]
        await self._queue.aenqueue_many(task_name="add", args_list=[(number,) for number in numbers])


class FlexiQSchedules(FlexiQ):
    """Periodic tasks that fire every second. It looks for due ones about every ten seconds, also with its defaults."""

    name = "FlexiQ schedules"
    only = frozenset({"schedules"})

    def work(self, slots: int | None) -> None:
        self._open(slots or 4)
        for number in range(SCHEDULES):
            self._queue.periodic("* * * * * *", name=f"schedule-{number}")(lap_of_second)
        self._queue.run_worker()
