"""The producer processes of a run. One that a failpoint kills is replaced until the load ends."""

from __future__ import annotations

import random
import time
from pathlib import Path

import msgspec

from torture.failpoint_sweep import Sweep, producer_points
from torture.history import History
from torture.processes import Process, Processes
from torture.settings import Failpoints, Settings


class Producers:
    """A number of producers at a time. The last `interrupted` of them have a blocking client, which is interrupted."""

    def __init__(
        self,
        processes: Processes,
        settings: Settings,
        number: int,
        *,
        history: History,
        rng: random.Random,
        interrupted: int = 0,
    ) -> None:
        self._processes = processes
        self._settings = settings
        self._history = history
        self._random = rng
        self.sweep = Sweep(producer_points() if settings.sweep else (), random.Random(settings.seed))
        self._begun = time.monotonic()
        self._generation = 0
        self._number = number
        self._slots = [self._start(slot, settings.seconds) for slot in range(number + interrupted)]

    @property
    def ready(self) -> bool:
        return all(process.ready for process in self._slots)

    @property
    def alive(self) -> bool:
        return any(process.alive for process in self._slots)

    def begin(self) -> None:
        """Let the load begin now."""
        self._begun = time.monotonic()

    def maintain(self) -> None:
        """Replace killed producers for the rest of the load."""
        left = self._begun + self._settings.seconds - time.monotonic()
        for slot, process in enumerate(self._slots):
            if not process.alive and not process.noted:
                self._note_exit(process)
                if left > 1:
                    self._slots[slot] = self._start(slot, left)

    def note_ends(self) -> None:
        """Record the exit of each producer that was not replaced."""
        for process in self._slots:
            if not process.noted:
                self._note_exit(process)

    def _note_exit(self, process: Process) -> None:
        process.noted = True
        code = "it did not end" if process.alive else process.code
        self._history.note("producer exit", process=process.name, code=code)

    def _start(self, slot: int, seconds: float) -> Process:
        self._generation += 1
        interrupted = slot >= self._number
        name = f"{'interrupted' if interrupted else 'producer'}-{self._generation}"
        met = Path(self._settings.folder) / f"{name}.met"
        points = Failpoints(aims=() if slot else self.sweep.aims(name, met))
        own = msgspec.structs.replace(
            self._settings, name=name, seed=self._random.randrange(1 << 30), skew=0.0, failpoints=points,
            seconds=seconds, double=0.1,
        )  # fmt: skip
        return self._processes.start("torture.interrupted_producer" if interrupted else "torture.producer", own)
