"""Wake-ups by LISTEN and NOTIFY, on a connection and a thread of their own.

NOTIFY makes commits wait for each other. So hints are told by a transaction of their own, which waits for no disk:
right behind the statement that has them, on its connection, while that is rare; otherwise from here. What comes while a
notification is under way goes into the next one, and while they follow each other closely there is a growing pause
between them, so that a flood costs no more than a few dozen per second.

A pooler may swallow LISTEN without a word. So the listener tells itself something and waits to hear it, at the start
and every minute; while it does not, wake-ups count as down, and everybody polls. Behind a pooler another connection
says it: on this one the word might come back from a session that is ours for the moment only.
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
from holdfast.stores.postgres.wakeups.listen_check import SelfTest
from holdfast.stores.postgres.wakeups.notification import Message, Voice

log = logging.getLogger("holdfast")

SHORTEST_RECONNECT: Final = 0.05
LONGEST_RECONNECT: Final = 5.0
SWALLOWED: Final = "no notification arrives: a pooler in transaction mode swallows LISTEN"


class PostgresWakeups:
    """Carries hints between the processes that use one schema; within this one they go straight."""

    def __init__(self, address: PostgresAddress) -> None:
        self.name = address.name
        self._address = address
        # Whatever other sessions speak: notifications are sent and read as the bytes of UTF-8.
        self._parameters: dict[str, Any] = {**connection_parameters(address), "client_encoding": "UTF8"}
        self._here = LocalWakeups()
        self._lock = threading.Lock()
        self._waiting = HintBuffer()
        self._gap = SendPause()
        self._voice = Voice(notification.channel(address.schema), os.urandom(6).hex())
        self._hears = False
        self._known = threading.Event()
        """Whether a self-test has ended, either way."""
        self._trouble: str | None = None
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._bell: tuple[int, int] | None = None
        self._resting = False
        """The thread looks by itself when its pause is over: a bell each time would cost the others more."""

    @property
    def healthy(self) -> bool:
        return self._hears

    @property
    def problem(self) -> str | None:
        return None if self._hears else self._trouble

    def send(self, hints: Hints) -> None:
        self._here.send(hints)
        if self._waiting.add(hints) and not self._resting:
            self._ring()

    def voice(self) -> Voice | None:
        """How a statement tells its hints by itself, right behind its commit. None in a flood: it is told together."""
        if not (self._hears and self._gap.over()) or self._waiting:
            return None
        self._gap.sent()
        return self._voice

    def reported(self, hints: Hints) -> None:
        """A statement has told these by itself, to all but those who listen here."""
        self._here.send(hints)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        return self._here.subscribe(listener)

    # The thread

    def open(self, timeout: float = 2.0) -> None:
        """Listen. Whoever subscribed before it returns and then looks, misses nothing."""
        with self._lock:
            if self._thread is None:
                self._stopping = False
                self._known.clear()
                self._trouble = "no notification has arrived so far; a pooler in transaction mode swallows LISTEN"
                self._bell = os.pipe()
                self._thread = threading.Thread(target=self._run, name="holdfast-wakeups", daemon=True)
                self._thread.start()
        self._known.wait(timeout)

    def close(self) -> None:
        """End the thread, after what was sent before has gone out."""
        thread = self._thread
        if thread is None:
            return
        self._stopping = True
        self._ring()
        thread.join()
        with self._lock:
            self._thread = None
            bell, self._bell = self._bell, None
        for end in bell or ():
            os.close(end)
        self._trouble = None

    def _ring(self) -> None:
        bell = self._bell
        if bell is not None:
            os.write(bell[1], b"!")

    def _run(self) -> None:
        pause = SHORTEST_RECONNECT
        while not self._stopping:
            try:
                with psycopg.connect(**self._parameters) as connection:
                    self._serve(connection)
            except Exception as error:
                # Whatever it is: were this thread to end, everybody would sleep on, and wake-ups would count as well.
                self._trouble = f"the listening connection is down: {str(error).strip()}"
                if self._hears or pause == SHORTEST_RECONNECT:
                    log.warning("wake-ups of %s are down, polling meanwhile: %s", self.name, error)
            if self._hears:
                pause = SHORTEST_RECONNECT
            self._hears = False
            if not self._stopping:
                self._sleep(random.uniform(0.5, 1) * pause)
                pause = min(LONGEST_RECONNECT, pause * 2)

    def _serve(self, connection: psycopg.Connection) -> None:
        """Listen and send until the connection breaks or the store closes."""
        assert self._bell is not None
        self._execute(connection, f'listen "{notification.channel(self._address.schema)}"')
        row = self._execute(connection, "select pg_backend_pid()").fetchone()
        direct = row is not None and row[0] == connection.info.backend_pid
        if direct:
            self._execute(connection, notification.UNSYNCED)
            self._execute(connection, KEEPALIVES)
        received = deque[str | bytes]()
        connection.add_notify_handler(lambda notify: received.append(notify.payload))  # what comes along with an answer
        test, gap = SelfTest(), self._gap
        poll = select.poll()
        poll.register(connection.pgconn.socket, select.POLLIN)
        poll.register(self._bell[0], select.POLLIN)
        while not self._stopping or self._waiting:
            if test.due():
                self._say(connection if direct else None, notification.testing(test.begin()), direct=direct)
            if self._waiting and gap.over():
                hints = self._waiting.take()
                self._emit(connection, hints, direct=direct)
                gap.sent(several=len(hints.finished) > 1)
                if self._stopping:
                    return
            for message in self._received(connection, received):
                if message.test is None:
                    self._here.send(message.hints)
                elif test.received(message.test):
                    self._passed()
            if test.failed():
                self._failed()
            if (pause := gap.wait()) > 0 and not self._stopping:
                self._resting = True
                select.select([connection.pgconn.socket], [], [], pause)
                self._resting = False
            elif any(
                each == self._bell[0] for each, _ in poll.poll(test.wait() * 1000 + 1 if not self._waiting else 0)
            ):
                self._silence()

    def _emit(self, connection: psycopg.Connection, hints: Hints, *, direct: bool) -> None:
        try:
            self._say(connection, notification.payloads(hints, self._voice.sender), direct=direct)
        except BaseException:
            self._waiting.add(hints)  # for the next connection
            raise

    def _passed(self) -> None:
        if not self._hears:
            # Whatever was said before we listened is lost: everybody looks for themselves once.
            self._hears = True
            self._here.send(ANYTHING)
        self._known.set()

    def _failed(self) -> None:
        self._hears = False
        self._trouble = SWALLOWED
        log.warning("wake-ups of %s: %s; polling instead", self.name, SWALLOWED)
        self._known.set()

    def _say(self, connection: psycopg.Connection | None, texts: Iterable[str], *, direct: bool) -> None:
        """Send notifications, on a connection of their own where none is given."""
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

    def _received(self, connection: psycopg.Connection, received: deque[str | bytes]) -> Iterator[Message]:
        """What others said. Our own words come back, too, and were heard here already.

        Straight from libpq: psycopg's own generator takes ten times as long, while whoever is to be woken waits.
        """
        server = connection.pgconn
        server.consume_input()
        while (notify := server.notifies()) is not None:
            received.append(notify.extra)
        while received:
            message = notification.read(received.popleft())
            if message.s != self._voice.sender:
                yield message

    def _silence(self) -> None:
        assert self._bell is not None
        while select.select([self._bell[0]], [], [], 0)[0]:
            os.read(self._bell[0], 4096)

    def _sleep(self, seconds: float) -> None:
        assert self._bell is not None
        if select.select([self._bell[0]], [], [], seconds)[0] and not self._stopping:
            self._silence()
            time.sleep(min(seconds, 0.05))
