"""The nemesis: injects faults into workers and the store by a seeded schedule, and records each one."""

from __future__ import annotations

import json
import os
import queue
import random
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

from torture.fleet import Fleet
from torture.harnesses.harness import Fault, Harness
from torture.history import History, real_now

WORKERS = ("kill", "freeze", "terminate")
SUPERVISED = "supervised kill"


class Nemesis:
    """Injects one fault at a time. Faults that last run in a thread."""

    def __init__(
        self,
        harness: Harness,
        fleet: Fleet,
        *,
        history: History,
        rng: random.Random,
        pause: float,
        calm: float = 0.0,
        only: tuple[str, ...] = (),
        supervised: Path | None = None,
        begin_after: float = 1.0,
    ) -> None:
        """`calm`: seconds without faults after each kind was injected once. `supervised`: the file with the pids of the
        supervised processes, if the run has a supervisor.
        """
        self._harness = harness
        self._fleet = fleet
        self._history = history
        self._random = rng
        self._pause = pause
        self._calm = calm
        self._only = only
        self._supervised = supervised
        self._next = time.monotonic() + begin_after
        self._injecting = threading.Event()
        self._faults: queue.SimpleQueue[Fault] = queue.SimpleQueue()
        # One thread for all faults, which never ends: a server is killed when the thread that started it ends.
        threading.Thread(target=self._inject_all, name="nemesis", daemon=True).start()
        # Each kind in turn, in a seeded order, so that a short run contains most kinds.
        self._order: list[Fault | str] = []
        self._calmed = True
        self._happened: set[str] = set()

    @property
    def unharmed(self) -> list[str]:
        """Kinds of faults that were planned and had no effect so far."""
        return sorted({_kind(each) for each in self._kinds()} - self._happened)

    def act(self) -> None:
        """Inject the next fault if its time has come."""
        if time.monotonic() < self._next or self._injecting.is_set():
            return
        self._next = time.monotonic() + self._random.expovariate(1 / self._pause)
        if not self._order and self._calm and not self._calmed:
            self._calmed = True
            self._next = time.monotonic() + self._calm
            return
        if not self._order:
            self._calmed = False
            self._order = [*self._kinds(), *filter(self._is_selected, self._random.choices(WORKERS, k=2))]
            self._random.shuffle(self._order)
        if not self._order:
            return
        match self._order.pop():
            case Fault() as fault:
                self._injecting.set()
                self._faults.put(fault)
            case "kill":
                self._note("kill", self._fleet.kill())
            case "terminate":
                self._note("terminate", self._fleet.retire())
            case "supervised kill":
                self._note(SUPERVISED, self._kill_supervised())
            case _:
                self._freeze()

    def heal(self) -> None:
        """Wait until the current fault has ended."""
        until = time.monotonic() + 60
        while self._injecting.is_set() and time.monotonic() < until:
            time.sleep(0.02)

    def _kinds(self) -> list[Fault | str]:
        supervised = [] if self._supervised is None else [SUPERVISED]
        kinds: list[Fault | str] = [*self._harness.faults(), *WORKERS, *supervised]
        return [each for each in kinds if self._is_selected(each)]

    def _is_selected(self, fault: Fault | str) -> bool:
        return not self._only or _kind(fault) in self._only

    def _inject_all(self) -> None:
        while True:
            self._inject(self._faults.get())
            self._injecting.clear()

    def _inject(self, fault: Fault) -> None:
        """Record a fault that had an effect as `fault`, any other as `tried`: that one excuses no delay."""
        begun = real_now()
        seconds = self._random.uniform(0.3, 1.0) * fault.longest
        kind, what = fault.kind, "tried"
        try:
            if fault.inject(seconds):
                what = "fault"
                self._happened.add(kind)
        except Exception as error:
            self._history.note("broke", error=f"{kind}: {type(error).__name__}: {error}")
            # How far the injection came is unknown: it does not count as this kind, but the store may be unavailable.
            kind, what = f"{kind}, broken off", "fault"
        back = real_now()
        if fault.outage:
            time.sleep(fault.recovery)
        self._history.note(what, kind=kind, begun=begun, back=back, outage=fault.outage)

    def _freeze(self) -> None:
        victim = self._fleet.freeze()
        if victim is not None:
            # A frozen worker with the write lock would block all others: continue it; the next turn tries another.
            if self._harness.holder() == victim.pid:
                victim.send(signal.SIGCONT)
                return
            self._note("freeze", victim.name)

    def _kill_supervised(self) -> str | None:
        assert self._supervised is not None
        pids: list[int] = json.loads(self._supervised.read_text()) if self._supervised.exists() else []
        if not pids:
            return None
        victim = self._random.choice(pids)
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        return str(victim)

    def _note(self, kind: str, victim: str | None) -> None:
        if victim is not None:
            self._happened.add(kind)
            self._history.note("fault", kind=kind, begun=real_now(), outage=False, victim=victim)


def _kind(fault: Fault | str) -> str:
    return fault if isinstance(fault, str) else fault.kind
