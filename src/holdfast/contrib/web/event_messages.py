"""The events of one chain as server-sent messages, for async and blocking applications."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, closing
from typing import Any

from holdfast.client.client import Client
from holdfast.client.event_stream import watch, watch_sync
from holdfast.client.sync_client import SyncClient
from holdfast.contrib.web.documents import event_message, message
from holdfast.core.job import Chain
from holdfast.engine.events import Event

KEEP_ALIVE = b": keep-alive\n\n"
KEEP_ALIVE_PAUSES = 15
"""After this many pauses of a second a comment is sent, so that proxies do not close the connection."""
ENDS = frozenset({"completed", "failed", "cancelled", "deleted"})
"""The kinds of events after which the chain may have ended."""

Status = Callable[[Chain[Any]], bytes]


async def messages(client: Client, chain_id: str, status: Status) -> AsyncGenerator[bytes]:
    """The status of the chain, then its events, and the status again at its end. A deleted chain ends the messages."""
    chain_messages = _ChainMessages(chain_id, status)
    async with aclosing(watch(client.store)) as seen:
        async for event in seen:
            if text := chain_messages.about(event):
                yield text
            if chain_messages.must_read:
                if text := chain_messages.read(await client.get(chain_id)):
                    yield text
                if chain_messages.ended:
                    return


def messages_sync(client: SyncClient, chain_id: str, status: Status) -> Generator[bytes]:
    """The same for blocking applications."""
    chain_messages = _ChainMessages(chain_id, status)
    with closing(watch_sync(client.store)) as seen:
        for event in seen:
            if text := chain_messages.about(event):
                yield text
            if chain_messages.must_read:
                if text := chain_messages.read(client.get(chain_id)):
                    yield text
                if chain_messages.ended:
                    return


class _ChainMessages:
    """Decides which messages to send, and when to read the chain."""

    def __init__(self, chain_id: str, status: Status) -> None:
        self._chain_id = chain_id
        self._status = status
        self._pauses = 0
        self._begun = False
        self.must_read = False
        self.ended = False

    def about(self, event: Event | None) -> bytes:
        """The message about an event, or about a pause. Empty if there is none."""
        # The first pause comes when the store records events: an event after the status is not lost.
        self.must_read = not self._begun
        if event is None:
            self._pauses += 1
            if self._pauses % KEEP_ALIVE_PAUSES == 0:
                self.must_read = True
                return KEEP_ALIVE
        elif event.chain_id == self._chain_id:
            self.must_read = event.kind in ENDS
            return event_message(event)
        return b""

    def read(self, chain: Chain[Any] | None) -> bytes:
        """The message about the chain: at the beginning, and when it has ended."""
        first, self._begun = not self._begun, True
        self.ended = chain is None or chain.status.finished
        return b"" if chain is None or not (first or self.ended) else message("status", self._status(chain))
