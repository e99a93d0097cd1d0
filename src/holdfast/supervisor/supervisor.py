"""The supervisor: runs groups of worker processes, as many as the backlog needs."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from time import monotonic

from holdfast.engine.events import Event
from holdfast.engine.observers import Observer, Observers, log
from holdfast.engine.wake_flag import WakeFlag
from holdfast.simulation import WorkKind
from holdfast.stores.address import open_store
from holdfast.stores.sharded.address import each_address, write_shards
from holdfast.supervisor.backlog import Backlog, Reading
from holdfast.supervisor.child_protocol import ChildSettings, Logging, assign_types, find_jobs
from holdfast.supervisor.endpoint import Endpoint
from holdfast.supervisor.exporting import Exporter
from holdfast.supervisor.fleet import Fleet
from holdfast.supervisor.group import Group
from holdfast.supervisor.metrics import GroupState
from holdfast.supervisor.worker_process import ENTRY, WorkerProcess

LAST_MOMENTS = 8.0
"""Seconds after the grace period before a process that has not exited is killed."""

Reload = Callable[[], Sequence[Group]]


class Supervisor:
    """Runs an application's jobs in worker processes.

    Each group has `default_count` processes at start and one per `concurrency` due jobs, up to `max_count`: more at
    once, fewer when fewer have been enough for some time. A surplus process is drained: its attempts run to their end.
    Dead processes are replaced. While the backlog cannot be read, the number does not change.
    """

    def __init__(
        self,
        store: str | Mapping[str, str],
        app: str | None = None,
        *,
        groups: Iterable[Group] = (Group(),),
        work_kinds: Iterable[WorkKind] = (),
        listen: tuple[str, int] | None = None,
        exporter: Exporter | None = None,
        logging: Logging | None = None,
        reload: Reload | None = None,
        observers: Iterable[Observer | Callable[[Event], None]] = (),
        entry: str = ENTRY,
        init: bool = False,
    ) -> None:
        """`app` is `module:jobs`, which every process imports. `reload` returns the groups again at SIGHUP.

        `listen` is the host and port of the health endpoint, and `exporter` adds metrics to it. With `init` it does the
        work of process 1: it reaps orphaned processes.
        """
        store = store if isinstance(store, str) else write_shards(store)
        if any(each.startswith("memory:") for each in each_address(store)):
            raise ValueError(
                "a memory:// store exists in one process only: a supervisor needs one that processes can share"
            )
        self._store = store
        self._app = app
        self._kinds = tuple(work_kinds)
        self._logging = logging or Logging()
        self._reload = reload
        self._observers = Observers(observers)
        self._entry = entry
        self._init = init
        self._attempts = None if exporter is None or listen is None else exporter.attempts
        self._jobs = find_jobs(app, self._kinds)
        self._wake_flag = WakeFlag()
        self._stopping = False
        self._end_grace = False
        self._turned = monotonic()
        self.clean = True
        """Whether every process exited without being killed."""
        self.fleets: list[Fleet] = []
        self._group(tuple(groups))
        self.backlog = Backlog(open_store(store), self._types(), observers=self._observers)
        self.endpoint = None if listen is None else Endpoint(self, listen, exporter)

    async def run(self, *, signals: bool = True) -> None:
        """Supervise until stopped, cancelled or signalled. Then drain all processes within the grace period.

        In the main thread SIGTERM and SIGINT stop it, a second one ends the grace period, and SIGHUP reloads;
        `signals=False` installs no handlers.
        """
        with self._signals() if signals else nullcontext():
            try:
                if self.endpoint is not None:
                    await self.endpoint.open()
                await self._supervise()
            finally:
                ending = asyncio.create_task(self._end())
                await _see_through(ending, self.stop)

    def stop(self) -> None:
        """Drain the fleet and end. Called again, it ends the grace period."""
        self._end_grace = self._stopping
        self._stopping = True
        self._wake_flag.set()

    def reload(self) -> None:
        """Read the groups again. Invalid settings are logged and change nothing."""
        if self._reload is None or self._stopping:
            return
        try:
            self._group(tuple(self._reload()))
        except ValueError as error:
            log.error("the new settings are invalid, the old ones stay in use: %s", error)
            return
        except Exception:
            log.exception("the new settings cannot be used; everything stays as it was")
            return
        self.backlog.follow(self._types())
        self._observers.emit("reloaded", detail=", ".join(fleet.group.name for fleet in self.fleets))
        self._wake_flag.set()

    @property
    def alive(self) -> bool:
        """Whether the main loop still runs at its interval, or the processes are being stopped."""
        return self._stopping or monotonic() - self._turned < 30 + self._interval()

    @property
    def ready(self) -> bool:
        """Whether the backlog can be read, and each group has a process that claims its jobs."""
        return not self._stopping and self.backlog.last is not None and all(fleet.ready for fleet in self.fleets)

    def groups(self) -> Sequence[GroupState]:
        """The processes and slots of each group."""
        return [fleet.state() for fleet in self.fleets]

    async def refresh(self) -> None:
        """Nothing to do: the main loop reads the backlog."""

    async def _supervise(self) -> None:
        self._keep()
        while not self._stopping:
            reading = await self._read()
            if self._stopping:
                return
            self._turned = now = monotonic()
            for fleet in self.fleets:
                fleet.scale(reading, now)
            await self._keep_until(now + self._interval())

    async def _read(self) -> Reading | None:
        """Read the backlog. A slow store does not delay the replacement of dead processes, or a stop."""
        reading = asyncio.create_task(self.backlog.read())
        reading.add_done_callback(lambda _: self._wake_flag.set())
        try:
            while not reading.done() and not self._stopping:
                await self._wake_flag.wait(self._interval())
                self._keep()
            return reading.result() if reading.done() else None
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    def _keep(self) -> None:
        for fleet in self.fleets:
            fleet.keep(monotonic())
        self.fleets = [fleet for fleet in self.fleets if fleet.processes or not fleet.retired]

    async def _keep_until(self, moment: float) -> None:
        """Maintain the processes until the backlog is to be read again."""
        while not self._stopping and (now := monotonic()) < moment:
            rests = [rest for fleet in self.fleets if (rest := fleet.resting_until(now)) is not None]
            await self._wake_flag.wait(max(0.0, min([moment, *rests]) - now))
            self._keep()

    async def _end(self) -> None:
        self._stopping = True
        grace = max((fleet.group.grace for fleet in self.fleets), default=0.0)
        deadline, grace_ended = monotonic() + grace + LAST_MOMENTS, False
        for process in self._processes():
            process.stop()
        while self._processes():
            left = deadline - monotonic()
            if left <= 0:
                self.clean = False
                deadline = monotonic() + LAST_MOMENTS
                for process in self._processes():
                    log.error("process %d did not exit in time and is killed", process.pid)
                    process.kill()
            if self._end_grace and not grace_ended:
                grace_ended, deadline = True, min(deadline, monotonic() + LAST_MOMENTS)
                for process in self._processes():
                    process.stop()
            await self._wake_flag.wait(max(left, 0.1))
        for fleet in self.fleets:
            fleet.retire()
            fleet.keep(monotonic())
        if self.endpoint is not None:
            await self.endpoint.close()
        await self.backlog.close()

    def _processes(self) -> list[WorkerProcess]:
        return [process for fleet in self.fleets for process in fleet.processes if process.code is None]

    def _group(self, groups: Sequence[Group]) -> None:
        names = [group.name for group in groups]
        if len(set(names)) < len(names):
            raise ValueError(f"two groups have the same name: {', '.join(names)}")
        shares = assign_types(groups, self._jobs)
        if not shares:
            raise ValueError("there is nothing to run: no job type has a handler")
        settings_of_groups = [
            ChildSettings(
                store=self._store, app=self._app, kinds=self._kinds, group=group, types=shares[group.name],
                logging=self._logging, path=tuple(sys.path), supervisor=os.getpid(),
                count_attempts=self._attempts is not None,
            )
            for group in groups if group.name in shares
        ]  # fmt: skip
        known = {fleet.group.name: fleet for fleet in self.fleets}
        for settings in settings_of_groups:
            fleet = known.pop(settings.group.name, None)
            if fleet is None:
                self.fleets.append(Fleet(settings, start=self._start, observers=self._observers))
            elif fleet.settings != settings or fleet.retired:
                fleet.follow(settings)
        for fleet in known.values():
            fleet.retire()

    def _start(self, settings: ChildSettings) -> WorkerProcess:
        return WorkerProcess(settings, entry=self._entry, changed=self._wake_flag.set, attempts=self._attempts)

    def _types(self) -> list[str]:
        return [name for fleet in self.fleets if not fleet.retired for name in fleet.settings.types]

    def _interval(self) -> float:
        return min((fleet.group.scale_interval for fleet in self.fleets), default=1.0)

    @contextmanager
    def _signals(self) -> Generator[None]:
        handlers: dict[int, Callable[[], None]] = {
            signal.SIGTERM: self.stop, signal.SIGINT: self.stop, signal.SIGHUP: self.reload,
        }  # fmt: skip
        if self._init:
            handlers[signal.SIGCHLD] = self._reap_orphans
        if threading.current_thread() is not threading.main_thread():
            handlers.clear()
        loop = asyncio.get_running_loop()
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)
        try:
            yield
        finally:
            for number in handlers:
                loop.remove_signal_handler(number)

    def _reap_orphans(self) -> None:
        """As process 1, reap orphaned processes, which would otherwise stay zombies."""
        ours = {process.pid: process for process in self._processes()}
        with suppress(ChildProcessError):
            while (found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                if found.si_pid in ours:
                    ours[found.si_pid].ended()
                else:
                    os.waitpid(found.si_pid, os.WNOHANG)


async def _see_through(task: asyncio.Task[None], stop: Callable[[], None]) -> None:
    """Await a task to its end. A cancellation ends the grace period, so that no process is left."""
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
            stop()
    task.result()
    if cancelled:
        raise asyncio.CancelledError
