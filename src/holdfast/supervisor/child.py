"""A supervised worker process: ``python -m holdfast.supervisor.child STATUS_PIPE``, started by a supervisor only."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

import msgspec

from holdfast.client.client import Client
from holdfast.core.retry import Retry
from holdfast.engine.attempt_tally import AttemptTally
from holdfast.engine.observers import LogThrottle, log
from holdfast.errors import NotPermitted, StoreUnavailable
from holdfast.supervisor.child_protocol import (
    DRAIN,
    SETTINGS_DECODER,
    STOP,
    ChildSettings,
    Logging,
    ProcessStatus,
    find_jobs,
)
from holdfast.worker import Worker, event_loop
from holdfast.worker.parent_death import signal_when_parent_dies

LONGEST_SLEEP = 60.0
"""The poll interval while wake-ups arrive, in seconds. It is long so that an idle fleet sends few statements."""
ENDLESS_GRACE = 10 * 365 * 86400.0
BUSY_EVERY = 0.2
LAST_MOMENTS = 8.0
"""Seconds after the grace period in which outcomes are written. The process then exits in any case."""
REOPEN = Retry(initial=0.2, maximum=5, jitter=0.5, max_attempts=None)


def main(set_up_logging: Callable[[Logging], None] | None = None) -> None:
    """Read the settings from standard input, and run jobs until a command or SIGTERM ends the process."""
    # A terminal sends SIGINT and SIGHUP to all its processes. The supervisor handles them and sends a command.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    status = int(sys.argv[1])
    control = open(os.dup(0), "rb")  # noqa: SIM115, PTH123 - it stays open until the process ends
    _close_stdin()
    line = control.readline()
    if not line.endswith(b"\n"):
        return  # the supervisor died while it started this process
    settings = SETTINGS_DECODER.decode(line)
    signal_when_parent_dies(signal.SIGTERM, parent=settings.supervisor)
    sys.path[:] = settings.path
    (set_up_logging or _log_plainly)(settings.logging)
    child = _Child(settings, control, status=status)
    event_loop.run(child.run())
    # A non-daemon thread of the application that never ends must not keep the process alive.
    threading.Thread(target=_leave, name="holdfast-leave", daemon=True).start()


class _Child:
    def __init__(self, settings: ChildSettings, control: io.BufferedReader, *, status: int) -> None:
        self._settings = settings
        self._control = control
        self._status = status
        self._worker: Worker | None = None
        self._attempts = AttemptTally()
        self._ordered = asyncio.Event()
        """Set when the process is to end."""
        self._stop_received = False
        self._ending = False
        """Whether the grace period has begun."""
        self._grace_ended = False

    async def run(self) -> None:
        self._loop = asyncio.get_running_loop()
        os.set_blocking(self._status, False)
        os.set_inheritable(self._status, False)
        # A repeated SIGTERM does not end the grace period: a service manager signals every process, in addition to the
        # command of the supervisor, and the kernel sends one for each thread of a dying supervisor.
        self._loop.add_signal_handler(signal.SIGTERM, self._end_gracefully)
        threading.Thread(target=self._listen, name="holdfast-control", daemon=True).start()
        client = Client(self._settings.store, find_jobs(self._settings.app, self._settings.kinds))
        if await self._opened(client):
            try:
                await self._work(client)
            finally:
                await client.close()

    async def _opened(self, client: Client) -> bool:
        """Connect, and repeat that during an outage of the store. False if the process is to end before that."""
        attempt = 0
        log_throttle = LogThrottle()
        while not self._ordered.is_set():
            try:
                await client.open()
            except (StoreUnavailable, NotPermitted) as error:
                attempt += 1
                if log_throttle.should_log(str(error)):
                    log.warning("waiting for the store: %s", error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._ordered.wait(), REOPEN.delay(attempt))
            else:
                return True
        return False

    async def _work(self, client: Client) -> None:
        group = self._settings.group
        # DRAIN has no time limit. The grace period begins with STOP.
        self._worker = worker = Worker(
            client, concurrency=group.concurrency, types=self._settings.types, poll_interval=LONGEST_SLEEP,
            poll_without_wakeups=group.poll_without_wakeups, lease=group.lease, renew_interval=group.renew_interval,
            timeout=group.timeout, mismatch_timeout=group.mismatch_timeout, grace=ENDLESS_GRACE, retry=group.retry,
            memory_limit=group.memory_limit, observers=[self._attempts] if self._settings.count_attempts else [],
        )  # fmt: skip
        worker.on_drain = self._drained
        if self._ordered.is_set():
            return
        reporting = asyncio.create_task(self._report_busy(worker))
        self._send(ProcessStatus(ready=worker.id))
        try:
            await worker.run(signals=False)
        finally:
            reporting.cancel()
            self._report_attempts()

    async def _report_busy(self, worker: Worker) -> None:
        reported = 0
        while True:
            if worker.busy != reported:
                reported = worker.busy
                self._send(ProcessStatus(busy=reported))
            self._report_attempts()
            await asyncio.sleep(BUSY_EVERY)

    def _report_attempts(self) -> None:
        for part in self._attempts.take():
            if not self._send(ProcessStatus(attempts=part)):
                self._attempts.add(part)

    def _send(self, status: ProcessStatus) -> bool:
        """False if the message was not sent."""
        # A full pipe loses this message, and the next one replaces it. A closed pipe means that the supervisor is dead.
        with suppress(OSError):
            os.write(self._status, msgspec.json.encode(status) + b"\n")
            return True
        return False

    def _listen(self) -> None:
        """Read commands in a thread, so that a handler that blocks the event loop cannot prevent the end."""
        commands = {DRAIN: self._drain, STOP: self._stop}
        with suppress(RuntimeError):  # the event loop is closed: the process is about to exit
            for line in self._control:
                if line in commands:  # an incomplete line: the supervisor died while it wrote it
                    self._loop.call_soon_threadsafe(commands[line])
            self._loop.call_soon_threadsafe(self._orphaned)
        threading.Event().wait(self._settings.group.grace + LAST_MOMENTS)
        os._exit(1)

    def _drain(self) -> None:
        if not self._ordered.is_set():
            self._ordered.set()
            if self._worker is not None:
                self._worker.stop()

    def _stop(self) -> None:
        """Handle STOP: end within the grace period. A second STOP ends the grace period."""
        if self._stop_received:
            self._end_grace()
        self._stop_received = True
        self._end_gracefully()

    def _drained(self) -> None:
        """An operator drains the worker: end as after SIGTERM, since the worker's own grace period has no end."""
        self._send(ProcessStatus(draining=True))
        self._end_gracefully()

    def _end_gracefully(self) -> None:
        """Drain within the grace period. A repeated call does not start another one."""
        if not self._ending:
            self._ending = True
            self._drain()
            self._loop.call_later(self._settings.group.grace, self._end_grace)

    def _end_grace(self) -> None:
        if not self._grace_ended and self._worker is not None:
            self._grace_ended = True
            self._worker.stop()

    def _orphaned(self) -> None:
        log.warning("the supervisor has died; this worker process ends")
        self._end_gracefully()


def _close_stdin() -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _log_plainly(settings: Logging) -> None:
    logging.basicConfig(level=settings.level.upper(), format="%(asctime)s %(levelname)s %(process)d %(message)s")


def _leave() -> None:
    threading.Event().wait(LAST_MOMENTS)
    os._exit(0)


if __name__ == "__main__":
    main()
