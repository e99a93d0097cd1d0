"""The workers of a run: watched, replaced when they die, thawed when they froze for long enough."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM

import msgspec

from torture.history import History, real_now
from torture.lock_watch import LockWatch
from torture.processes import Process, Processes
from torture.settings import Failpoints, Settings
from torture.sweep import Sweep, worker_points

PATIENCE = 60.0
"""Seconds for all to end once they were asked to, at rest."""

PRODUCER_FROZEN = 1.6
"""Seconds: more than a pause must last to be seen."""


class Fleet:
    """So many workers at a time."""

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
        """`holder` tells which process holds a lock that everybody needs."""
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
        """Of all that live, those that wind down among them."""
        return [process.pid for process in [*self._slots, *self._retired] if process.alive]

    def tend(self) -> None:
        """Replace those that ended, thaw those that were frozen for longer than their leases, producers too."""
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
        """End one as the kernel would; answers its name."""
        if (victim := self._choose()) is not None:
            victim.send(SIGKILL)
            return victim.name
        return None

    def freeze(self) -> Process | None:
        """Stop one; `tend` thaws it. With nobody awake to take over what it held, it would show nothing."""
        victim = self._choose() if len(self._able) > 1 else None
        if victim is not None:
            victim.send(SIGSTOP)
        return victim

    def dismiss(self) -> str | None:
        """Ask one to stop, and put another in its place."""
        victim = self._choose()
        if victim is None:
            return None
        self._replace(self._slots.index(victim))
        return victim.name

    def renew(self) -> None:
        """Replace all by ones that do not fail by themselves."""
        self._calm = True
        for slot in range(len(self._slots)):
            self._replace(slot)

    def close(self) -> None:
        """Ask all to stop and see them end."""
        for process in self._slots:
            self._ask(process)
        self._retired += self._slots
        self._slots = []
        deadline = time.monotonic() + PATIENCE
        while self._retired and time.monotonic() < deadline:
            self.tend()
            time.sleep(0.02)
        for process in self._retired:
            process.send(SIGKILL)
            self._history.note("exit", worker=process.name, code="it did not end", asked=process.asked)

    def _found_frozen(self, process: Process, now: float) -> None:
        """It stopped itself. With a lock that all need, nobody could take over: an outage, and not for long."""
        if self._holder() == process.pid:
            process.frozen = now + self._settings.lease * 0.5
            ended = real_now() + round(self._settings.lease * 0.5e6)
            self._history.note("fault", kind="frozen with the lock", begun=real_now(), ends=ended, outage=True)
        elif process.name.startswith("producer"):
            # Whoever waits in it is told late by our doing: long enough to see that it stood still, and no longer.
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
        # One that is frozen hears nothing, and may have lost everything by the time it does.
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
        # One at a time meets what the sweep hands out: the others are there to take over, and are harmed by chance.
        swept = slot == self._number - 1 and not self._calm
        aims = self.sweep.aims(name, Path(settings.folder) / f"{name}.met") if swept else ()
        changed = msgspec.structs.replace(
            settings,
            name=name,
            seed=seed,
            failpoints=Failpoints() if self._calm else Failpoints(points.kill, points.stop, seed, aims),
            # One whose clock is wrong, fast or slow, one that hears badly.
            skew=settings.skew * self._random.choice((1, -1)) if slot == 0 else 0.0,
            drop=max(settings.drop, 0.6 if slot == 1 else 0.0),
            double=0.3 if slot == 1 else 0.0,
        )
        return self._processes.start("torture.worker", changed)

    def _note_exit(self, process: Process) -> None:
        if not process.noted:
            process.noted = True
            self._history.note("exit", worker=process.name, code=process.code, asked=process.asked)
