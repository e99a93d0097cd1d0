"""The channel of a publish and subscribe server: what a kind of server implements."""

from __future__ import annotations

from typing import Protocol

from holdfast.engine.wakeups import Hints


class Refused(Exception):
    """The server refuses the message. A retry would be refused too."""


class Subscribed:
    """The server has confirmed the subscription. Earlier messages are lost."""


Received = Hints | Subscribed | None
"""What a subscription reads: hints of another process, the confirmation, or a message that is ignored."""


class Subscription(Protocol):
    """One connection that receives the messages of the channel. One thread reads; any thread may shut it down."""

    def read(self, timeout: float) -> Received:
        """The next message. Raises TimeoutError if none arrives in time; the connection stays usable."""
        ...

    def ping(self) -> None:
        """Ask the server for any message, to find out whether the connection works."""
        ...

    def shut_down(self) -> None:
        """End the connection. A thread that is reading gets an error at once."""
        ...

    def close(self) -> None: ...


class Channel(Protocol):
    """Where the hints of a namespace are published. Used by one subscriber thread and one publisher thread."""

    kind: str
    """The kind of the server, for the names of threads and loggers."""
    shown: str
    """The address without the password, for messages."""

    def subscribe(self) -> Subscription:
        """Connect and request the subscription. Any exception means: try again later."""
        ...

    def publish(self, hints: Hints) -> None:
        """Send hints to all subscribers, and wait until the server has them.

        Raises Refused if a retry makes no sense. Any other exception means: try again later.
        """
        ...

    def stop_publishing(self) -> None:
        """Close the connections that `publish` opened."""
        ...

    def forget(self) -> None:
        """A connection failed: choose the server again for the next one."""
        ...
