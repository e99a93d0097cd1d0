"""Wake-ups by pub/sub: the store's scripts publish, or a thread for a store of another kind; a thread listens."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Self

import msgspec

from holdfast.coalescing import Gathered
from holdfast.ids import new_token
from holdfast.stores.redis.address import read_address
from holdfast.stores.redis.ear import Ear
from holdfast.stores.redis.exchange import Dialect
from holdfast.stores.redis.keys import Keys
from holdfast.stores.redis.mouth import Mouth
from holdfast.stores.redis.route import Route
from holdfast.stores.redis.wire import hinted
from holdfast.uninterrupted import uninterrupted
from holdfast.wakeups import ANYTHING, Hints, Listener, LocalWakeups


class RedisWakeups:
    """Hints between everyone who uses a namespace.

    Opening it, or the first subscriber, starts a thread that listens on a connection of its own; the first hint sent
    starts one that publishes. Whenever the first has connected, all are told to look for themselves, since hints may
    have passed meanwhile. Sending gathers, and never waits: a server that is slow or away only costs the hints.
    """

    _ear: Ear | None
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
        ear = self._ear
        return ear is not None and ear.hears and ear.is_alive()

    @property
    def trouble(self) -> str | None:
        ear = self._ear
        return None if ear is None or ear.hears else ear.trouble

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
            ear, self._ear = self._ear, None
            mouth, self._mouth = self._mouth, None
        if mouth is not None:
            mouth.stop()
        if ear is not None:
            ear.stop()

    def _begin(self) -> None:
        """Nothing runs yet, or nothing any more: a forked child has none of its parent's threads."""
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._waiting = Gathered()
        self._ear = self._mouth = None
        self._closed = False

    def _listen(self) -> Ear:
        if self._pid != os.getpid():
            self._begin()
        with self._lock:
            self._closed = False
            if self._ear is None or not self._ear.is_alive():
                ear = Ear(self._route, self._channel, dialect=self._dialect, tell=self._hear)
                uninterrupted(ear.start)
                self._ear = ear
            return self._ear

    def _make_mouth(self) -> Mouth:
        return Mouth(
            self._route, self._channel, dialect=self._dialect, source=self._source, waiting=self._waiting
        )  # fmt: skip

    def _hear(self, message: bytes | None) -> None:
        if message is None:
            self._local.send(ANYTHING)
            return
        try:
            told = hinted(message)
        except msgspec.MsgspecError:
            self._local.send(ANYTHING)
            return
        if told.source != self._source:
            self._local.send(Hints(set(told.due), set(told.finished), set(told.lost), told.recorded, told.anything))
