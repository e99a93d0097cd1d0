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
from holdfast.engine.observers import Repetition, log
from holdfast.errors import NotPermitted, StoreUnavailable
from holdfast.supervisor.child_protocol import DRAIN, ORDERS, STOP, Logging, Order, Word, find_jobs
from holdfast.worker import Worker, event_loop
from holdfast.worker.parent_death import signal_when_parent_dies

LONGEST_SLEEP = 60.0
"""Seconds between two looks for work while wake-ups arrive: an idle fleet leaves its database at rest."""
FOR_EVER = 10 * 365 * 86400.0
BUSY_EVERY = 0.2
LAST_MOMENTS = 8.0
"""Seconds after the grace period in which outcomes are written; what still runs then is abandoned."""
REOPEN = Retry(initial=0.2, maximum=5, jitter=0.5, max_attempts=None)


def main(set_up_logging: Callable[[Logging], None] | None = None) -> None:
    """Take the order from standard input, and work until told to end."""
    # Ctrl-C, and a terminal that closes, reach every process of it: the supervisor hears them, and tells us.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    status = int(sys.argv[1])
    control = open(os.dup(0), "rb")  # noqa: SIM115, PTH123 - it stays open as long as the process lives
    _close_stdin()
    line = control.readline()
    if not line.endswith(b"\n"):
        return  # the supervisor died while it started us
    order = ORDERS.decode(line)
    signal_when_parent_dies(signal.SIGTERM, parent=order.supervisor)
    sys.path[:] = order.path
    (set_up_logging or _log_plainly)(order.logging)
    child = _Child(order, control, status=status)
    event_loop.run(child.run())
    # Somebody's thread that never ends does not keep a process that has nothing more to do.
    threading.Thread(target=_leave, name="holdfast-leave", daemon=True).start()


class _Child:
    def __init__(self, order: Order, control: io.BufferedReader, *, status: int) -> None:
        self._order = order
        self._control = control
        self._status = status
        self._worker: Worker | None = None
        self._ordered = asyncio.Event()
        """Some order to end came."""
        self._told_to_stop = False
        self._ending = False
        """The grace period has begun."""
        self._hurried = False

    async def run(self) -> None:
        self._loop = asyncio.get_running_loop()
        os.set_blocking(self._status, False)
        os.set_inheritable(self._status, False)
        # It may come any number of times, and never hurries us: a service manager signals every process, beside the
        # supervisor that tells us; the kernel sends one for each thread of a dying supervisor that we are handed to.
        self._loop.add_signal_handler(signal.SIGTERM, self._end_gracefully)
        threading.Thread(target=self._listen, name="holdfast-control", daemon=True).start()
        client = Client(self._order.store, find_jobs(self._order.app, self._order.kinds))
        if await self._opened(client):
            try:
                await self._work(client)
            finally:
                await client.close()

    async def _opened(self, client: Client) -> bool:
        """Connect, however long the store is away. False if the order to end comes first."""
        attempt = 0
        repetition = Repetition()
        while not self._ordered.is_set():
            try:
                await client.open()
            except (StoreUnavailable, NotPermitted) as error:
                attempt += 1
                if repetition.is_new(str(error)):
                    log.warning("waiting for the store: %s", error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._ordered.wait(), REOPEN.delay(attempt))
            else:
                return True
        return False

    async def _work(self, client: Client) -> None:
        group = self._order.group
        # Draining has no end of its own; the grace period begins with the order to stop.
        self._worker = worker = Worker(
            client, concurrency=group.concurrency, types=self._order.types, poll_interval=LONGEST_SLEEP,
            poll_without_wakeups=group.poll_without_wakeups, lease=group.lease, renew_interval=group.renew_interval,
            timeout=group.timeout, mismatch_timeout=group.mismatch_timeout, grace=FOR_EVER, retry=group.retry,
            memory_limit=group.memory_limit,
        )  # fmt: skip
        if self._ordered.is_set():
            return
        telling = asyncio.create_task(self._tell_busy(worker))
        self._say(Word(ready=worker.id))
        try:
            await worker.run(signals=False)
        finally:
            telling.cancel()

    async def _tell_busy(self, worker: Worker) -> None:
        reported = 0
        while True:
            if worker.busy != reported:
                reported = worker.busy
                self._say(Word(busy=reported))
            await asyncio.sleep(BUSY_EVERY)

    def _say(self, word: Word) -> None:
        # A supervisor that is slow misses one, and gets the next; one that is dead needs none.
        with suppress(OSError):
            os.write(self._status, msgspec.json.encode(word) + b"\n")

    def _listen(self) -> None:
        """Commands, in a thread of their own: a handler that blocks the loop does not keep us from ending."""
        obeying = {DRAIN: self._drain, STOP: self._stop}
        with suppress(RuntimeError):  # the loop is closed: we are about to end anyway
            for line in self._control:
                if line in obeying:  # else torn: its supervisor died over it
                    self._loop.call_soon_threadsafe(obeying[line])
            self._loop.call_soon_threadsafe(self._orphaned)
        threading.Event().wait(self._order.group.grace + LAST_MOMENTS)
        os._exit(1)

    def _drain(self) -> None:
        if not self._ordered.is_set():
            self._ordered.set()
            if self._worker is not None:
                self._worker.stop()

    def _stop(self) -> None:
        """The supervisor's word: end within the grace period; said again, end at once."""
        if self._told_to_stop:
            self._hurry()
        self._told_to_stop = True
        self._end_gracefully()

    def _end_gracefully(self) -> None:
        """Drain, within the grace period. However many reasons there are for it, they begin it once."""
        if not self._ending:
            self._ending = True
            self._drain()
            self._loop.call_later(self._order.group.grace, self._hurry)

    def _hurry(self) -> None:
        if not self._hurried and self._worker is not None:
            self._hurried = True
            self._worker.stop()

    def _orphaned(self) -> None:
        log.warning("the supervisor is gone; ending")
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
