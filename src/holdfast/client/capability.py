"""What the capabilities of the clients share.

A capability with its own module, such as `client/pause.py`, has three parts: procedures that yield operations, a
class with the async methods, and a class with the blocking ones. Client and SyncClient inherit from these classes.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol, TypeVar

from holdfast.client.client_calls import ClientCalls
from holdfast.client.tx_events import EventsOf
from holdfast.engine.observers import Observers
from holdfast.engine.procedures import Procedure
from holdfast.engine.store import Store
from holdfast.registry.jobs import Jobs

R = TypeVar("R")


class Capability(Protocol):
    """What the async methods of a capability use."""

    store: Store
    jobs: Jobs
    observers: Observers
    _calls: ClientCalls

    def _run(self, call: Procedure[R], tx: Any, events_of: EventsOf[R] | None = None) -> Awaitable[R]:
        """Run a procedure in the application's transaction, or each operation by itself if there is none."""
        ...


class SyncCapability(Protocol):
    """What the blocking methods of a capability use."""

    store: Store
    jobs: Jobs
    observers: Observers
    _calls: ClientCalls

    def _run(self, call: Procedure[R], tx: Any, events_of: EventsOf[R] | None = None) -> R:
        """Run a procedure in the application's transaction, or each operation by itself if there is none."""
        ...
