"""The worker processes of a run: replaced when they die, and continued (SIGCONT) some time after they were frozen."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM

import msgspec

from torture.failpoint_sweep import Sweep, worker_points
from torture.history import History, real_now
from torture.lock_watch import LockWatch
from torture.processes import Process, Processes
from torture.settings import Failpoints, Settings

TIMEOUT = 60.0
"""Seconds for all workers to exit after SIGTERM, when no jobs are left."""

PRODUCER_FROZEN = 1.6
"""Seconds for which a producer stays frozen: longer than the shortest pause that the checker detects."""


class Fleet:
    """A fixed number of workers at a time."""

    def __init__(
        self,
        processes: Processes,
        settings: Settings,
        number: int,
        *,
        history: History,
        rng: random.Random,
        holder: Callable[[], int | None],
    ) -> None:
        """`holder` returns the process that holds the write lock of the store, or None."""
        self._processes = processes
        self._holder = holder
        self._lock_watch = LockWatch(holder, processes.name_of, history)
        self.sweep = Sweep(worker_points() if settings.sweep else (), random.Random(settings.seed + 1))
        self._settings = settings
        self._history = history
        self._random = rng
        self._generation = 0
        self._number = number
        self._calm = False
        self._retired: list[Process] = []
        self._slots = [self._start(slot) for slot in range(number)]

    @property
    def ready(self) -> bool:
        return all(process.ready for process in self._slots)

    @property
    def pids(self) -> list[int]:
        """The pids of all living workers, including those that are stopping."""
        return [process.pid for process in [*self._slots, *self._retired] if process.alive]

    @property
    def names(self) -> list[str]:
        """The ids of the workers that run and are not asked to stop."""
        return [process.name for process in self._slots if process.alive]

    def maintain(self) -> None:
        """Replace workers that ended, and continue processes that were frozen long enough, also producers."""
        self._lock_watch.look()
        now = time.monotonic()
        for slot, process in enumerate(self._slots):
            if not process.alive:
                self._note_exit(process)
                self._slots[slot] = self._start(slot)
        for process in [*self._slots, *self._retired, *self._processes.living("producer")]:
            if process.frozen is not None and now >= process.frozen:
                process.frozen = None
                process.send(SIGCONT)
            elif process.frozen is None and process.is_stopped:
                self._found_frozen(process, now)
        for process in [each for each in self._retired if not each.alive]:
            self._note_exit(process)
            self._retired.remove(process)

    def kill(self) -> str | None:
        """Kill a worker with SIGKILL; returns its name."""
        if (victim := self._choose()) is not None:
            victim.send(SIGKILL)
            return victim.name
        return None

    def freeze(self) -> Process | None:
        """Stop a worker with SIGSTOP; `maintain` continues it. Needs a second worker that can take over its jobs."""
        victim = self._choose() if len(self._able) > 1 else None
        if victim is not None:
            victim.send(SIGSTOP)
        return victim

    def retire(self) -> str | None:
        """Send SIGTERM to a worker and start another in its place."""
        victim = self._choose()
        if victim is None:
            return None
        self._replace(self._slots.index(victim))
        return victim.name

    def renew(self) -> None:
        """Replace all workers by workers without failpoints."""
        self._calm = True
        for slot in range(len(self._slots)):
            self._replace(slot)

    def close(self) -> None:
        """Send SIGTERM to all workers and wait until they exit."""
        for process in self._slots:
            self._ask(process)
        self._retired += self._slots
        self._slots = []
        deadline = time.monotonic() + TIMEOUT
        while self._retired and time.monotonic() < deadline:
            self.maintain()
            time.sleep(0.02)
        for process in self._retired:
            process.send(SIGKILL)
            self._history.note("exit", worker=process.name, code="it did not end", asked=process.asked)

    def _found_frozen(self, process: Process, now: float) -> None:
        """The process stopped itself. If it holds the write lock, this is an outage, so it is continued soon."""
        if self._holder() == process.pid:
            process.frozen = now + self._settings.lease * 0.5
            ended = real_now() + round(self._settings.lease * 0.5e6)
            self._history.note("fault", kind="frozen with the lock", begun=real_now(), ends=ended, outage=True)
        elif process.name.startswith("producer"):
            # The freeze delays the waiters of this producer: just long enough for the checker to detect it.
            process.frozen = now + PRODUCER_FROZEN
        else:
            process.frozen = now + self._settings.lease * self._random.uniform(1.5, 3.5)

    @property
    def _able(self) -> list[Process]:
        return [each for each in self._slots if each.alive and each.ready and not each.is_stopped]

    def _choose(self) -> Process | None:
        able = self._able
        return self._random.choice(able) if able else None

    def _replace(self, slot: int) -> None:
        self._ask(self._slots[slot])
        self._retired.append(self._slots[slot])
        self._slots[slot] = self._start(slot)

    def _ask(self, process: Process) -> None:
        # A frozen process does not handle the signal, and may have lost its claims when it continues.
        if process.alive and process.ready and not process.is_stopped:
            process.asked = real_now()
        process.frozen = None
        process.send(SIGTERM)
        process.send(SIGCONT)

    def _start(self, slot: int) -> Process:
        self._generation += 1
        settings = self._settings
        seed = self._random.randrange(1 << 30)
        points, name = settings.failpoints, f"worker-{slot}-{self._generation}"
        # Only one worker at a time gets points of the sweep. The others can take over, and have random failpoints.
        swept = slot == self._number - 1 and not self._calm
        aims = self.sweep.aims(name, Path(settings.folder) / f"{name}.met") if swept else ()
        changed = msgspec.structs.replace(
            settings,
            name=name,
            seed=seed,
            failpoints=Failpoints() if self._calm else Failpoints(points.kill, points.stop, seed, aims, points.often),
            # One worker has a wrong clock, fast or slow; one loses wake-ups.
            skew=settings.skew * self._random.choice((1, -1)) if slot == 0 else 0.0,
            drop=max(settings.drop, 0.6 if slot == 1 else 0.0),
            double=0.3 if slot == 1 else 0.0,
        )
        return self._processes.start("torture.worker", changed)

    def _note_exit(self, process: Process) -> None:
        if not process.noted:
            process.noted = True
            self._history.note("exit", worker=process.name, code=process.code, asked=process.asked)
