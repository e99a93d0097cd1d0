"""Wake-ups by publish and subscribe: a publisher thread sends them, a subscriber thread receives them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from holdfast.engine.hint_buffer import HintBuffer
from holdfast.engine.uninterrupted import uninterrupted
from holdfast.engine.wakeups import Hints, Listener, LocalWakeups
from holdfast.stores.pubsub.channel import Channel
from holdfast.stores.pubsub.publisher import Publisher
from holdfast.stores.pubsub.subscriber import Subscriber


class PubSubWakeups:
    """Hints between all processes that use a namespace.

    `open`, or the first subscription, starts the subscriber thread on its own connection. The first hint that is sent
    starts the publisher thread. After each connect, the listeners get `anything`, because hints may have been lost
    meanwhile. `send` only adds to a buffer and never waits: if the server is slow or down, only hints are lost.
    """

    _subscriber: Subscriber | None
    _publisher: Publisher | None

    def __init__(self, channel: Channel) -> None:
        self.name = channel.shown
        self._channel = channel
        self._local = LocalWakeups()
        self._reset()

    @property
    def healthy(self) -> bool:
        subscriber = self._subscriber
        return subscriber is not None and subscriber.receives and subscriber.is_alive()

    @property
    def problem(self) -> str | None:
        subscriber = self._subscriber
        return None if subscriber is None or subscriber.receives else subscriber.problem

    def send(self, hints: Hints) -> None:
        self._local.send(hints)
        if self._pid != os.getpid():
            self._reset()
        if self._waiting.add(hints):
            with self._lock:
                if (self._publisher is None or not self._publisher.is_alive()) and not self._closed:
                    publisher = Publisher(self._channel, self._waiting)
                    uninterrupted(publisher.start)
                    self._publisher = publisher
                if self._publisher is not None:
                    self._publisher.ring()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        # In this order, so that the listener gets the `anything` of the first connect.
        unsubscribe = self._local.subscribe(listener)
        try:
            uninterrupted(self._listen)
        except BaseException:
            unsubscribe()
            raise
        return unsubscribe

    def open(self, timeout: float = 2.0) -> None:
        uninterrupted(lambda: self._listen().known.wait(timeout))

    def close(self) -> None:
        """End the threads. Listeners stay registered, and receive hints again after the next `subscribe` or `open`."""
        if self._pid != os.getpid():
            self._reset()
        with self._lock:
            self._closed = True
            subscriber, self._subscriber = self._subscriber, None
            publisher, self._publisher = self._publisher, None
        if publisher is not None:
            publisher.stop()
        if subscriber is not None:
            subscriber.stop()

    def _reset(self) -> None:
        """Reset to no threads: at the start, and in a forked child, which has none of its parent's threads."""
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._waiting = HintBuffer()
        self._subscriber = self._publisher = None
        self._closed = False

    def _listen(self) -> Subscriber:
        if self._pid != os.getpid():
            self._reset()
        with self._lock:
            self._closed = False
            if self._subscriber is None or not self._subscriber.is_alive():
                subscriber = Subscriber(self._channel, self._local.send)
                uninterrupted(subscriber.start)
                self._subscriber = subscriber
            return self._subscriber
