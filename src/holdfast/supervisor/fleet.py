"""The processes of one group: as many as needed. Dead ones are replaced, with a growing delay if they crash early."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core.retry import Retry
from holdfast.engine.observers import Observers
from holdfast.supervisor.backlog import Reading
from holdfast.supervisor.child_protocol import ChildSettings
from holdfast.supervisor.crash_delay import STABLE, CrashDelay
from holdfast.supervisor.group import Group
from holdfast.supervisor.metrics import GroupState
from holdfast.supervisor.scaling import Scaler
from holdfast.supervisor.worker_process import WorkerProcess

Start = Callable[[ChildSettings], WorkerProcess]


class Fleet:
    """Keeps the number of processes of a group. It runs on the event loop and never blocks."""

    def __init__(
        self, settings: ChildSettings, *, start: Start, observers: Observers, crashing: Retry | None = None
    ) -> None:
        self.settings = settings
        self.scaler = Scaler(settings.group)
        self.processes: list[WorkerProcess] = []
        self.retired = False
        self.crash_delay = CrashDelay(crashing)
        self.restarts = 0
        """How many processes died without a command to end."""
        self._start = start
        self._observers = observers

    @property
    def group(self) -> Group:
        return self.settings.group

    @property
    def active(self) -> list[WorkerProcess]:
        """The processes that claim jobs, or soon will."""
        return [process for process in self.processes if not process.asked_to_end]

    @property
    def busy(self) -> int:
        """How many handlers run."""
        return sum(process.busy for process in self.processes)

    @property
    def ready(self) -> bool:
        """Whether a process claims the jobs of this group, if it should have one."""
        return any(process.ready for process in self.active) or self.scaler.target == 0

    def state(self) -> GroupState:
        """Its processes and slots, for the health endpoint."""
        active = self.active
        ready = sum(process.ready for process in active)
        return GroupState(
            name=self.group.name, types=self.settings.types, wanted=self.scaler.target, processes=len(active),
            ready=ready, draining=len(self.processes) - len(active), busy=self.busy,
            slots=ready * self.group.concurrency, restarts=self.restarts,
        )  # fmt: skip

    def scale(self, reading: Reading | None, now: float) -> None:
        """Set the number of processes from the backlog; None if it could not be read."""
        before = self.scaler.target
        due, busy = None, 0
        if reading is not None:
            due = reading.due(self.settings.types)
            # Draining processes do not count: their running handlers need no other process. Jobs claimed since the
            # reading are still among its due jobs, and must not count twice.
            busy = min(sum(process.busy for process in self.active), reading.running(self.settings.types))
        after = self.scaler.decide(due, busy=busy, now=now)
        if after != before and not self.retired:
            self._emit("scaled", detail=f"from {before} to {after} processes, {due} jobs due")
        self.keep(now)

    def keep(self, now: float) -> None:
        """Remove dead processes, drain surplus and outdated ones, and start missing ones."""
        for process in [each for each in self.processes if each.code is not None]:
            self._remove_dead(process, now)
        for process in self.active:
            if process.settings != self.settings or self.retired:
                self._drain(process)
            elif process.ready:
                self._note_ready(process)
                if now - process.started >= STABLE:
                    self.crash_delay.crashes = 0
        if self.retired:
            return
        missing = self.scaler.target - len(self.active)
        if missing > 0:
            self._fill(missing, now)
        for process in sorted(self.active, key=_worth)[: max(0, -missing)]:
            self._drain(process)

    def follow(self, settings: ChildSettings) -> None:
        """Use new settings from now on. Processes with the old settings are drained and replaced."""
        self.retired = False
        self.settings = settings
        self.scaler.follow(settings.group)
        self.crash_delay.reset()

    def retire(self) -> None:
        """Drain every process, and start no others."""
        self.retired = True

    def resting_until(self, now: float) -> float | None:
        """When to check again although no process changed; None if there is no need."""
        not_before = self.crash_delay.not_before
        return not_before if not_before > now and len(self.active) < self.scaler.target else None

    def _fill(self, missing: int, now: float) -> None:
        if now < self.crash_delay.not_before:
            return
        if self.crash_delay.crashes:
            # One at a time, until one has become stable.
            missing = 0 if any(not process.ready for process in self.active) else 1
        room = self.group.max_count - len(self.processes)
        for _ in range(min(missing, room)):
            try:
                process = self._start(self.settings)
            except OSError as error:  # out of memory, or too many processes: the machine may recover
                self._back_off(now, f"no process could be started: {error}")
                return
            self.processes.append(process)
            self._emit("process_started", detail=f"process {process.pid}")

    def _note_ready(self, process: WorkerProcess) -> None:
        if not process.greeted:
            process.greeted = True
            self._emit("process_ready", process, detail=f"process {process.pid}")

    def _drain(self, process: WorkerProcess) -> None:
        process.drain()
        self._emit("process_draining", process, detail=f"process {process.pid}, {process.busy} running")

    def _remove_dead(self, process: WorkerProcess, now: float) -> None:
        self.processes.remove(process)
        how = f"process {process.pid} ended with {process.code}"
        if process.asked_to_end:
            self._emit("process_ended", process, detail=how)
            return
        self.restarts += 1
        young = now - process.started < STABLE
        if not process.ready or (young and process.code != 0):
            self._back_off(now, how, process=process)
        else:
            self._emit("process_died", process, detail=how)

    def _back_off(self, now: float, how: str, *, process: WorkerProcess | None = None) -> None:
        delay = self.crash_delay.crashed(now)
        self._emit("process_died", process, detail=f"{how}; the next one starts in {delay:.1f} s")

    def _emit(self, kind: str, process: WorkerProcess | None = None, *, detail: str) -> None:
        worker = None if process is None else process.name
        self._observers.emit(kind, worker=worker, detail=f"group {self.group.name}: {detail}")


def _worth(process: WorkerProcess) -> tuple[bool, int, float]:
    """The order in which processes are drained: those not yet ready, then the least busy, then the youngest."""
    return process.ready, process.busy, -process.started
