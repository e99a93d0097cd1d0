"""Live updates: one listener per dashboard reports to all viewers that something changed.

The listener runs while at least one viewer is connected. A message contains no data: the page reads itself again, with
the rights of its viewer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import suppress

from holdfast.client.client import Client
from holdfast.dashboard.access import Access
from holdfast.engine.events import Event

log = logging.getLogger("holdfast.dashboard")

PAUSE = 1.0
"""Seconds between two messages to a viewer at least."""
HEARTBEAT = 20.0
"""Seconds after which a message without content is sent, so that proxies keep the connection."""
RETRY = 5.0
MOST_VIEWERS = 1000
"""Open connections of all viewers together. More pages work, and do not update by themselves."""
FIRST = 1.0
"""Seconds after which a new viewer reads its page again: a change between its reading and the listening was missed."""


class Subscription:
    """One viewer that waits for changes. `chain_id`: only changes of this chain."""

    def __init__(self, access: Access, chain_id: str | None) -> None:
        self._access = access
        self._chain_id = chain_id
        self.changed = asyncio.Event()

    def receive(self, event: Event | None) -> None:
        """Called with each event; None: events may be missing."""
        if event is None or (
            (self._chain_id is None or event.chain_id == self._chain_id)
            and (event.type is None or self._access.sees(event.type))
        ):
            self.changed.set()


class Changes:
    """The listener and its subscriptions."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._subscriptions: set[Subscription] = set()
        self._task: asyncio.Task[None] | None = None
        self._ended = False

    @property
    def viewers(self) -> int:
        return len(self._subscriptions)

    async def messages(self, access: Access, chain_id: str | None) -> AsyncGenerator[str]:
        """Server-sent events for one viewer, until the connection is closed."""
        subscription = Subscription(access, chain_id)
        self._subscriptions.add(subscription)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._listen())
        asyncio.get_running_loop().call_later(FIRST, subscription.changed.set)
        try:
            yield "retry: 5000\n\n"
            while not self._ended:
                try:
                    async with asyncio.timeout(HEARTBEAT):
                        await subscription.changed.wait()
                except TimeoutError:
                    yield ": still connected\n\n"
                    continue
                if self._ended:
                    break
                subscription.changed.clear()
                yield "event: changed\ndata: 1\n\n"
                await asyncio.sleep(PAUSE)
        finally:
            self._subscriptions.discard(subscription)
            if not self._subscriptions:
                await self.close()

    def end(self) -> None:
        """End the messages of all viewers: the server stops, and waits for open connections."""
        self._ended = True
        self._deliver(None)

    async def close(self) -> None:
        """Stop listening."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _listen(self) -> None:
        while True:
            try:
                async for event in self._client.events():
                    self._deliver(event)
            except Exception as error:
                log.warning("live updates are interrupted: %s", error)
            await asyncio.sleep(RETRY)
            self._deliver(None)

    def _deliver(self, event: Event | None) -> None:
        for subscription in list(self._subscriptions):
            subscription.receive(event)
