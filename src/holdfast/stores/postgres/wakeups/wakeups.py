"""Wake-ups by LISTEN and NOTIFY, on a separate connection and thread.

NOTIFY serialises commits. So hints are sent in a separate transaction, which does not wait for the disk. While hints
are rare, that transaction is pipelined behind the statement that created them, on the same connection. Otherwise this
thread sends them. Hints that arrive during a notification go into the next one. While notifications follow each other
closely, the pause between them grows, so that many hints cost a few dozen notifications per second at most.

A pooler in transaction mode ignores LISTEN without an error. So the listener sends itself a test notification, at the
start and every minute. While the test does not come back, wake-ups count as down, and all processes poll. Behind a
pooler another connection sends the test. If the listening connection sent it, the test could come back from a server
session that the pooler assigns only for a moment.
"""

from __future__ import annotations

import logging
import os
import random
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import psycopg

from holdfast.engine.hint_buffer import HintBuffer, SendPause
from holdfast.engine.wakeups import ANYTHING, Hints, Listener, LocalWakeups
from holdfast.stores.postgres.address import PostgresAddress
from holdfast.stores.postgres.connection.connect import KEEPALIVES, connection_parameters
from holdfast.stores.postgres.connection.deadlines import deadlines
from holdfast.stores.postgres.wakeups import notification
from holdfast.stores.postgres.wakeups.listen_check import ListenCheck
from holdfast.stores.postgres.wakeups.notification import NotificationContent, PipelinedNotify

log = logging.getLogger("holdfast")

SHORTEST_RECONNECT: Final = 0.05
LONGEST_RECONNECT: Final = 5.0
LISTEN_IGNORED: Final = "no notification arrives: a pooler in transaction mode ignores LISTEN"


class PostgresWakeups:
    """Sends hints to the other processes that use a schema. Within this process they are delivered directly."""

    def __init__(self, address: PostgresAddress) -> None:
        self.name = address.name
        self._address = address
        # Notifications are UTF-8, even if other sessions have another client encoding.
        self._parameters: dict[str, Any] = {**connection_parameters(address), "client_encoding": "UTF8"}
        self._local = LocalWakeups()
        self._lock = threading.Lock()
        self._pending = HintBuffer()
        self._send_pause = SendPause()
        self._pipelined_notify = PipelinedNotify(notification.channel(address.schema), os.urandom(6).hex())
        self._receiving = False
        self._checked = threading.Event()
        """Set when the first test has passed or failed."""
        self._problem: str | None = None
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._pipe: tuple[int, int] | None = None
        self._pausing = False
        """True during a pause of the thread. It checks for hints after the pause, so callers need not wake it."""

    @property
    def healthy(self) -> bool:
        return self._receiving

    @property
    def problem(self) -> str | None:
        return None if self._receiving else self._problem

    def send(self, hints: Hints) -> None:
        self._local.send(hints)
        if self._pending.add(hints) and not self._pausing:
            self._wake_thread()

    def pipelined_notify(self) -> PipelinedNotify | None:
        """Creates NOTIFY statements to pipeline behind a commit. None at high rates: the thread sends the hints."""
        if not (self._receiving and self._send_pause.over()) or self._pending:
            return None
        self._send_pause.sent()
        return self._pipelined_notify

    def sent_by_statement(self, hints: Hints) -> None:
        """Deliver hints in this process that a pipelined NOTIFY has sent to other processes."""
        self._local.send(hints)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        return self._local.subscribe(listener)

    # The thread

    def open(self, timeout: float = 2.0) -> None:
        """Start to listen. A subscriber that was registered before this returns receives every later hint."""
        with self._lock:
            if self._thread is None:
                self._stopping = False
                self._checked.clear()
                self._problem = "no notification has arrived so far; a pooler in transaction mode ignores LISTEN"
                self._pipe = os.pipe()
                self._thread = threading.Thread(target=self._run, name="holdfast-wakeups", daemon=True)
                self._thread.start()
        self._checked.wait(timeout)

    def close(self) -> None:
        """End the thread after it has sent all pending hints."""
        thread = self._thread
        if thread is None:
            return
        self._stopping = True
        self._wake_thread()
        thread.join()
        with self._lock:
            self._thread = None
            pipe, self._pipe = self._pipe, None
        for end in pipe or ():
            os.close(end)
        self._problem = None

    def _wake_thread(self) -> None:
        pipe = self._pipe
        if pipe is not None:
            os.write(pipe[1], b"!")

    def _run(self) -> None:
        pause = SHORTEST_RECONNECT
        while not self._stopping:
            try:
                with psycopg.connect(**self._parameters) as connection:
                    self._serve(connection)
            except Exception as error:
                # Catch every error: if this thread ended, wake-ups would count as healthy, and no worker would poll.
                self._problem = f"the listening connection is down: {str(error).strip()}"
                if self._receiving or pause == SHORTEST_RECONNECT:
                    log.warning("wake-ups of %s are down, polling meanwhile: %s", self.name, error)
            if self._receiving:
                pause = SHORTEST_RECONNECT
            if not self._stopping:
                self._stop_receiving()
                self._sleep(random.uniform(0.5, 1) * pause)
                pause = min(LONGEST_RECONNECT, pause * 2)
        self._receiving = False

    def _serve(self, connection: psycopg.Connection) -> None:
        """Listen and send until the connection breaks or the store closes."""
        assert self._pipe is not None
        self._execute(connection, f'listen "{notification.channel(self._address.schema)}"')
        row = self._execute(connection, "select pg_backend_pid()").fetchone()
        direct = row is not None and row[0] == connection.info.backend_pid
        if direct:
            self._execute(connection, notification.UNSYNCED)
            self._execute(connection, KEEPALIVES)
        received = deque[str | bytes]()
        connection.add_notify_handler(lambda notify: received.append(notify.payload))  # read with an answer
        check, send_pause = ListenCheck(), self._send_pause
        poll = select.poll()
        poll.register(connection.pgconn.socket, select.POLLIN)
        poll.register(self._pipe[0], select.POLLIN)
        while not self._stopping or self._pending:
            if check.due():
                self._notify(connection if direct else None, notification.testing(check.begin()), direct=direct)
            if self._pending and send_pause.over():
                hints = self._pending.take()
                self._send_hints(connection, hints, direct=direct)
                send_pause.sent(several=len(hints.finished) > 1)
                if self._stopping:
                    return
            for message in self._received(connection, received):
                if message.test is None:
                    self._local.send(message.hints)
                elif check.received(message.test):
                    self._passed()
            if check.failed():
                self._failed()
            if (pause := send_pause.wait()) > 0 and not self._stopping:
                self._pausing = True
                _readable(connection.pgconn.socket, pause)
                self._pausing = False
            elif any(
                each == self._pipe[0] for each, _ in poll.poll(check.wait() * 1000 + 1 if not self._pending else 0)
            ):
                self._empty_pipe()

    def _send_hints(self, connection: psycopg.Connection, hints: Hints, *, direct: bool) -> None:
        try:
            self._notify(connection, notification.payloads(hints, self._pipelined_notify.sender), direct=direct)
        except BaseException:
            self._pending.add(hints)  # for the next connection
            raise

    def _passed(self) -> None:
        if not self._receiving:
            # Notifications sent before LISTEN are lost, so every subscriber checks once.
            self._receiving = True
            self._local.send(ANYTHING)
        self._checked.set()

    def _failed(self) -> None:
        self._problem = LISTEN_IGNORED
        log.warning("wake-ups of %s: %s; polling instead", self.name, LISTEN_IGNORED)
        self._stop_receiving()
        self._checked.set()

    def _stop_receiving(self) -> None:
        received, self._receiving = self._receiving, False
        if received:
            # Wake all subscribers once, so that those that sleep for a long time begin to poll.
            self._local.send(ANYTHING)

    def _notify(self, connection: psycopg.Connection | None, texts: Iterable[str], *, direct: bool) -> None:
        """Send notifications. Without a connection, a new one is opened."""
        script = (notification.script if direct else notification.whole_script)(self._address.schema, texts)
        if connection is not None:
            self._execute(connection, script)
            return
        with psycopg.connect(**self._parameters) as other:
            self._execute(other, script)

    def _execute(self, connection: psycopg.Connection, query: str) -> psycopg.Cursor:
        descriptor = connection.pgconn.socket
        deadlines.watch(descriptor, self._address.deadline)
        try:
            return connection.execute(query.encode())
        finally:
            deadlines.done(descriptor)

    def _received(self, connection: psycopg.Connection, received: deque[str | bytes]) -> Iterator[NotificationContent]:
        """The messages of other processes. Those of this process were delivered directly.

        Read from libpq: the generator of psycopg takes ten times as long, and delays every wake-up.
        """
        server = connection.pgconn
        server.consume_input()
        while (notify := server.notifies()) is not None:
            received.append(notify.extra)
        while received:
            message = notification.read(received.popleft())
            if message.s != self._pipelined_notify.sender:
                yield message

    def _empty_pipe(self) -> None:
        assert self._pipe is not None
        while _readable(self._pipe[0], 0):
            os.read(self._pipe[0], 4096)

    def _sleep(self, seconds: float) -> None:
        assert self._pipe is not None
        if _readable(self._pipe[0], seconds) and not self._stopping:
            self._empty_pipe()
            time.sleep(min(seconds, 0.05))


def _readable(descriptor: int, timeout: float) -> bool:
    """Wait until the descriptor is readable; False after the timeout. select() refuses descriptors from 1,024."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(timeout * 1000))
