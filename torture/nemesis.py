"""The nemesis: does harm to workers and to the store, by a seeded schedule, and notes all of it."""

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
from torture.grounds.harness import Fault, Harness
from torture.history import History, real_now

WORKERS = ("kill", "freeze", "terminate")
SUPERVISED = "supervised kill"


class Nemesis:
    """Harms one thing at a time; what takes a while goes on in a thread."""

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
        """`calm` is for how long there is peace after each kind of harm had its turn; `supervised` is the file with
        the processes of a supervisor, where one takes part.
        """
        self._ground = harness
        self._fleet = fleet
        self._history = history
        self._random = rng
        self._pause = pause
        self._calm = calm
        self._only = only
        self._supervised = supervised
        self._next = time.monotonic() + begin_after
        self._harming = threading.Event()
        self._faults: queue.SimpleQueue[Fault] = queue.SimpleQueue()
        # One thread for all of them, which never ends: a server that it starts again follows it into death.
        threading.Thread(target=self._harm_for_ever, name="nemesis", daemon=True).start()
        # Each kind in turn, in an order of the seed's, so that even a short run meets most of them.
        self._order: list[Fault | str] = []
        self._calmed = True
        self._happened: set[str] = set()

    @property
    def unharmed(self) -> list[str]:
        """Kinds of harm that were to be done and never happened so far: what they could have broken is not shown."""
        return sorted({_kind(each) for each in self._kinds()} - self._happened)

    def act(self) -> None:
        """Perhaps do some harm."""
        if time.monotonic() < self._next or self._harming.is_set():
            return
        self._next = time.monotonic() + self._random.expovariate(1 / self._pause)
        if not self._order and self._calm and not self._calmed:
            self._calmed = True
            self._next = time.monotonic() + self._calm
            return
        if not self._order:
            self._calmed = False
            self._order = [*self._kinds(), *filter(self._is_meant, self._random.choices(WORKERS, k=2))]
            self._random.shuffle(self._order)
        if not self._order:
            return
        match self._order.pop():
            case Fault() as fault:
                self._harming.set()
                self._faults.put(fault)
            case "kill":
                self._note("kill", self._fleet.kill())
            case "terminate":
                self._note("terminate", self._fleet.dismiss())
            case "supervised kill":
                self._note(SUPERVISED, self._kill_supervised())
            case _:
                self._freeze()

    def heal(self) -> None:
        """Let the last harm end."""
        until = time.monotonic() + 60
        while self._harming.is_set() and time.monotonic() < until:
            time.sleep(0.02)

    def _kinds(self) -> list[Fault | str]:
        supervised = [] if self._supervised is None else [SUPERVISED]
        kinds: list[Fault | str] = [*self._ground.faults(), *WORKERS, *supervised]
        return [each for each in kinds if self._is_meant(each)]

    def _is_meant(self, fault: Fault | str) -> bool:
        return not self._only or _kind(fault) in self._only

    def _harm_for_ever(self) -> None:
        while True:
            self._harm(self._faults.get())
            self._harming.clear()

    def _harm(self, fault: Fault) -> None:
        """What happened is noted as a fault, what was only tried is noted as that, and excuses nothing."""
        begun = real_now()
        seconds = self._random.uniform(0.3, 1.0) * fault.longest
        kind, what = fault.kind, "tried"
        try:
            if fault.harm(seconds):
                what = "fault"
                self._happened.add(kind)
        except Exception as error:
            self._history.note("broke", error=f"{kind}: {type(error).__name__}: {error}")
            # Nobody knows how far it came: it does not count as what it was meant to be, but the store may be away.
            kind, what = f"{kind}, broken off", "fault"
        back = real_now()
        if fault.outage:
            time.sleep(fault.recovery)
        self._history.note(what, kind=kind, begun=begun, back=back, outage=fault.outage)

    def _freeze(self) -> None:
        victim = self._fleet.freeze()
        if victim is not None:
            # One that holds a lock which everybody needs would freeze them all: it is let go, and another is tried.
            if self._ground.holder() == victim.pid:
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
