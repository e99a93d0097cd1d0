"""Wake-ups by LISTEN and NOTIFY, on a connection and a thread of their own.

Hints are sent after the commit, never in a transaction that writes jobs: NOTIFY makes commits wait for each other.
What comes while a notification is under way goes into the next one, and while they follow each other closely there is
a growing pause between them, so that a flood costs no more than a few dozen per second.

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
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec
import psycopg

from holdfast.stores.postgres.address import PostgresAddress
from holdfast.stores.postgres.deadline import deadlines
from holdfast.stores.postgres.link import connection_parameters
from holdfast.wakeups import ANYTHING, Hints, Listener, LocalWakeups

log = logging.getLogger("holdfast")

LONGEST: Final = 7900
"""Bytes of a notification; the server takes 7,999."""
MOST: Final = 8
"""Notifications sent at a time. What needs more is told as: look for yourselves."""
LONGEST_PAUSE: Final = 0.025
TEST_EVERY: Final = 60.0
TEST_PATIENCE: Final = 5.0
LONGEST_RECONNECT: Final = 5.0


class Message(msgspec.Struct, omit_defaults=True, array_like=False):
    """Hints as they travel. Short names: a notification is small."""

    d: list[str] = []
    f: list[str] = []
    l: list[str] = []  # noqa: E741  (it stands on the wire, not in prose)
    r: bool = False
    a: bool = False
    test: str | None = None


class PostgresWakeups:
    """Carries hints between the processes that use one schema; within this one they go straight."""

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        self._channel = channel(address.schema)
        self._here = LocalWakeups()
        self._lock = threading.Lock()
        self._waiting = Hints()
        self._heard = threading.Event()
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._bell: tuple[int, int] | None = None
        self._resting = False
        """The thread looks by itself when its pause is over: a bell each time would cost the others more."""

    @property
    def healthy(self) -> bool:
        return self._heard.is_set()

    def wait_until_healthy(self, timeout: float) -> bool:
        """Whether hints arrive, after giving them a moment to."""
        return self._heard.wait(timeout)

    def send(self, hints: Hints) -> None:
        self._here.send(hints)
        with self._lock:
            waiting = self._waiting
            idle = not waiting
            waiting.due |= hints.due
            waiting.finished |= hints.finished
            waiting.lost |= hints.lost
            waiting.recorded |= hints.recorded
            waiting.anything |= hints.anything
        if idle and not self._resting:
            self._ring()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        return self._here.subscribe(listener)

    # The thread

    def start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._stopping = False
                self._bell = os.pipe()
                self._thread = threading.Thread(target=self._run, name="holdfast-wakeups", daemon=True)
                self._thread.start()

    def stop(self) -> None:
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

    def _ring(self) -> None:
        bell = self._bell
        if bell is not None:
            os.write(bell[1], b"!")

    def _run(self) -> None:
        pause = 0.05
        while not self._stopping:
            try:
                with psycopg.connect(**connection_parameters(self._address)) as connection:
                    self._serve(connection)
            except (psycopg.Error, OSError) as error:
                if self._heard.is_set() or pause == 0.05:
                    log.warning("wake-ups of %s are down, polling meanwhile: %s", self._address.name, error)
            if self._heard.is_set():
                pause = 0.05
            self._heard.clear()
            if not self._stopping:
                self._sleep(random.uniform(0.5, 1) * pause)
                pause = min(LONGEST_RECONNECT, pause * 2)

    def _serve(self, connection: psycopg.Connection) -> None:
        """Listen and send until the connection breaks or the store closes."""
        assert self._bell is not None
        self._execute(connection, f'listen "{self._channel}"')
        row = connection.execute("select pg_backend_pid()").fetchone()
        direct = row is not None and row[0] == connection.info.backend_pid
        test = _Test()
        gap = _Gap()
        poll = select.poll()
        poll.register(connection.pgconn.socket, select.POLLIN)
        poll.register(self._bell[0], select.POLLIN)
        while not self._stopping or self._waiting:
            if test.due():
                self._say(connection if direct else None, Message(test=test.begin()))
            if self._waiting and gap.over():
                self._notify(connection, payloads(self._take()))
                gap.sent()
                if self._stopping:
                    return
            for message in self._received(connection):
                if message.test is not None:
                    self._tested(test.answered(message.test))
                else:
                    self._here.send(_hints(message))
            if test.failed():
                self._tested(False)
            if (pause := gap.wait()) > 0 and not self._stopping:
                self._resting = True
                select.select([connection.pgconn.socket], [], [], pause)
                self._resting = False
            elif poll.poll(test.wait() * 1000 + 1 if not self._waiting else 0):
                self._silence()

    def _say(self, connection: psycopg.Connection | None, message: Message) -> None:
        """Send one message, on a connection of its own where none is given."""
        texts = [msgspec.json.encode(message).decode()]
        if connection is not None:
            self._notify(connection, texts)
            return
        with psycopg.connect(**connection_parameters(self._address)) as other:
            self._notify(other, texts)

    def _tested(self, passed: bool) -> None:
        if passed and not self._heard.is_set():
            # Whatever was said before we listened is lost: everybody looks for themselves once.
            self._heard.set()
            self._here.send(ANYTHING)
        elif not passed and self._heard.is_set():
            self._heard.clear()
        if not passed:
            log.warning(
                "wake-ups of %s do not arrive, polling instead; a pooler in transaction mode swallows LISTEN",
                self._address.name,
            )

    def _take(self) -> Hints:
        with self._lock:
            hints, self._waiting = self._waiting, Hints()
        return hints

    def _notify(self, connection: psycopg.Connection, texts: Iterable[str]) -> None:
        # One round trip, and no wait for the disk: losing it costs time, never a job.
        notifications = "; ".join(f"select pg_notify('{self._channel}', {_quoted(text)})" for text in texts)
        self._execute(connection, f"begin; set local synchronous_commit = off; {notifications}; commit")

    def _execute(self, connection: psycopg.Connection, query: str) -> None:
        descriptor = connection.pgconn.socket
        deadlines.watch(descriptor, self._address.deadline)
        try:
            connection.execute(query.encode())
        finally:
            deadlines.done(descriptor)

    def _received(self, connection: psycopg.Connection) -> Iterator[Message]:
        """What others said. Our own words come back, too, and were heard here already."""
        own = connection.info.backend_pid
        for notify in connection.notifies(timeout=0):
            try:
                message = msgspec.json.decode(notify.payload, type=Message)
            except msgspec.DecodeError:
                message = Message(a=True)
            if notify.pid != own or message.test is not None:
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


class _Test:
    """Whether we hear ourselves."""

    def __init__(self) -> None:
        self._next = 0.0
        self._sent: str | None = None
        self._deadline = 0.0

    def due(self) -> bool:
        return self._sent is None and time.monotonic() >= self._next

    def begin(self) -> str:
        self._sent = os.urandom(8).hex()
        self._deadline = time.monotonic() + TEST_PATIENCE
        return self._sent

    def answered(self, word: str) -> bool:
        if word == self._sent:
            self._sent = None
            self._next = time.monotonic() + TEST_EVERY
        return True

    def failed(self) -> bool:
        if self._sent is None or time.monotonic() < self._deadline:
            return False
        self._sent = None
        self._next = time.monotonic() + TEST_EVERY
        return True

    def wait(self) -> float:
        return max(0.0, (self._next if self._sent is None else self._deadline) - time.monotonic())


class _Gap:
    """The pause between two notifications: none at first, growing while they follow each other closely."""

    def __init__(self) -> None:
        self._pause = 0.0
        self._sent = 0.0

    def over(self) -> bool:
        return self.wait() <= 0

    def sent(self) -> None:
        now = time.monotonic()
        if now - self._sent > max(2 * self._pause, 0.002):
            self._pause = 0.0
        else:
            self._pause = min(LONGEST_PAUSE, max(0.001, self._pause * 2))
        self._sent = now

    def wait(self) -> float:
        return max(0.0, self._sent + self._pause - time.monotonic())


def channel(schema: str) -> str:
    """The channel of a schema's wake-ups."""
    return f"holdfast_{schema}"


def payloads(hints: Hints) -> list[str]:
    """Hints as the texts of notifications, each small enough."""
    whole = Message(sorted(hints.due), sorted(hints.finished), sorted(hints.lost), hints.recorded, hints.anything)
    if len(text := msgspec.json.encode(whole)) <= LONGEST:
        return [text.decode()]
    texts = [Message(r=hints.recorded, a=hints.anything)]
    for name, words in (("d", whole.d), ("f", whole.f), ("l", whole.l)):
        for word in words:
            kept: list[str] = getattr(texts[-1], name)
            kept.append(word)
            if len(msgspec.json.encode(texts[-1])) > LONGEST - 300:
                texts.append(Message())
                if len(texts) > MOST:
                    return [msgspec.json.encode(Message(whole.d[:50], r=hints.recorded, a=True)).decode()]
    return [msgspec.json.encode(text).decode() for text in texts]


def _hints(message: Message) -> Hints:
    return Hints(set(message.d), set(message.f), set(message.l), message.r, message.a)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
