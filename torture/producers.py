"""The producers of a run: replaced when a failpoint ends one, until the load is over."""

from __future__ import annotations

import random
import time
from pathlib import Path

import msgspec

from torture.history import History
from torture.processes import Process, Processes
from torture.settings import Failpoints, Settings
from torture.sweep import Sweep, producer_points


class Producers:
    """So many at a time."""

    def __init__(
        self, processes: Processes, settings: Settings, number: int, *, history: History, rng: random.Random
    ) -> None:
        self._processes = processes
        self._settings = settings
        self._history = history
        self._random = rng
        self.sweep = Sweep(producer_points() if settings.sweep else (), random.Random(settings.seed))
        self._begun = time.monotonic()
        self._generation = 0
        self._slots = [self._start(slot, settings.seconds) for slot in range(number)]

    @property
    def ready(self) -> bool:
        return all(process.ready for process in self._slots)

    @property
    def alive(self) -> bool:
        return any(process.alive for process in self._slots)

    def begin(self) -> None:
        """The load begins now."""
        self._begun = time.monotonic()

    def tend(self) -> None:
        """Replace those that were killed, for what is left of the load."""
        left = self._begun + self._settings.seconds - time.monotonic()
        for slot, process in enumerate(self._slots):
            if not process.alive and not process.noted:
                process.noted = True
                self._history.note("producer exit", process=process.name, code=process.code)
                if left > 1:
                    self._slots[slot] = self._start(slot, left)

    def _start(self, slot: int, seconds: float) -> Process:
        self._generation += 1
        name = f"producer-{self._generation}"
        met = Path(self._settings.folder) / f"{name}.met"
        points = Failpoints(aims=() if slot else self.sweep.aims(name, met))
        own = msgspec.structs.replace(
            self._settings, name=name, seed=self._random.randrange(1 << 30), skew=0.0, failpoints=points,
            seconds=seconds, double=0.1,
        )  # fmt: skip
        return self._processes.start("torture.producer", own)
