"""Wake-ups by pub/sub: the store's scripts publish, or a thread for a store of another kind; a thread listens."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Self

import msgspec

from holdfast.core.ids import new_token
from holdfast.engine.hint_buffer import Gathered
from holdfast.engine.uninterrupted import uninterrupted
from holdfast.engine.wakeups import ANYTHING, Hints, Listener, LocalWakeups
from holdfast.stores.redis.address import read_address
from holdfast.stores.redis.connection.conversation import Dialect
from holdfast.stores.redis.connection.node_locator import Route
from holdfast.stores.redis.keys import Keys
from holdfast.stores.redis.verbs.decode import hinted
from holdfast.stores.redis.wakeups.publisher import Mouth
from holdfast.stores.redis.wakeups.subscriber import Recorder


class RedisWakeups:
    """Hints between everyone who uses a namespace.

    Opening it, or the first subscriber, starts a thread that listens on a connection of its own; the first hint sent
    starts one that publishes. Whenever the first has connected, all are told to look for themselves, since hints may
    have passed meanwhile. Sending gathers, and never waits: a server that is slow or away only costs the hints.
    """

    _ear: Recorder | None
    _mouth: Mouth | None

    def __init__(self, route: Route, channel: str, dialect: Dialect) -> None:
        self.name = route.address.shown
        self._route = route
        self._channel = channel
        self._dialect = dialect
        self._local = LocalWakeups()
        self._source = new_token()
        """Who we are in what we publish: it comes back, and was heard here already."""
        self._begin()

    @classmethod
    def at(cls, address: str) -> Self:
        """The wake-ups of another kind of store, by way of the Redis at this address."""
        read = read_address(address)
        keys = Keys(read.namespace)
        # The plain commands, also in a cluster: every server there is knows them.
        return cls(Route(read, keys.slot), keys.channel, Dialect())

    @property
    def healthy(self) -> bool:
        recorder = self._ear
        return recorder is not None and recorder.receives and recorder.is_alive()

    @property
    def trouble(self) -> str | None:
        recorder = self._ear
        return None if recorder is None or recorder.receives else recorder.trouble

    def send(self, hints: Hints) -> None:
        self._local.send(hints)
        if self._pid != os.getpid():
            self._begin()
        if self._waiting.add(hints):
            with self._lock:
                if (self._mouth is None or not self._mouth.is_alive()) and not self._closed:
                    mouth = self._make_mouth()
                    uninterrupted(mouth.start)
                    self._mouth = mouth
                if self._mouth is not None:
                    self._mouth.ring()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        uninterrupted(self._listen)
        return self._local.subscribe(listener)

    def open(self, patience: float = 2.0) -> None:
        uninterrupted(lambda: self._listen().known.wait(patience))

    def close(self) -> None:
        """End the threads. Subscribers stay, and hear again after the next subscription, or when it is opened."""
        if self._pid != os.getpid():
            self._begin()
        with self._lock:
            self._closed = True
            recorder, self._ear = self._ear, None
            mouth, self._mouth = self._mouth, None
        if mouth is not None:
            mouth.stop()
        if recorder is not None:
            recorder.stop()

    def _begin(self) -> None:
        """Nothing runs yet, or nothing any more: a forked child has none of its parent's threads."""
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._waiting = Gathered()
        self._ear = self._mouth = None
        self._closed = False

    def _listen(self) -> Recorder:
        if self._pid != os.getpid():
            self._begin()
        with self._lock:
            self._closed = False
            if self._ear is None or not self._ear.is_alive():
                recorder = Recorder(self._route, self._channel, dialect=self._dialect, emit=self._receive)
                uninterrupted(recorder.start)
                self._ear = recorder
            return self._ear

    def _make_mouth(self) -> Mouth:
        return Mouth(
            self._route, self._channel, dialect=self._dialect, source=self._source, waiting=self._waiting
        )  # fmt: skip

    def _receive(self, message: bytes | None) -> None:
        if message is None:
            self._local.send(ANYTHING)
            return
        try:
            reported = hinted(message)
        except msgspec.MsgspecError:
            self._local.send(ANYTHING)
            return
        if reported.source != self._source:
            self._local.send(
                Hints(
                    set(reported.due), set(reported.finished), set(reported.lost), reported.recorded, reported.anything
                )
            )
