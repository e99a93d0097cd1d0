"""How long a conversation is retried, and what follows from the replies. No I/O: both pools use it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from holdfast.errors import StoreUnavailable
from holdfast.stores.redis.connection.conversation import Conversation, ErrorReply, SlotMoved
from holdfast.stores.redis.connection.node_locator import NodeLocator

PAUSE = 0.05
"""Seconds before a server that is loading, or a slot that is moving, is asked again."""
MAX_LOST_CONNECTIONS = 3


class Evaluation(NamedTuple):
    """What the pool does after a round of replies."""

    done: bool = False
    keep_connection: bool = True
    pause: bool = True
    """Whether to wait before the next round."""
    error: BaseException | None = None


_DONE = Evaluation(done=True, pause=False)


class RetryDeadline:
    """The time limit of one conversation. Its methods raise StoreUnavailable once it must not be retried."""

    def __init__(self, locator: NodeLocator) -> None:
        self._locator = locator
        self._deadline = time.monotonic() + locator.address.timeout
        self._lost_connections = 0

    @property
    def left(self) -> float:
        return max(self._deadline - time.monotonic(), 0.001)

    def connection_lost(self, error: BaseException, *, connected: bool) -> float:
        """Seconds to wait after a connection failed. Every request may be sent twice, so it is sent again.

        A single server that refuses connections is not retried: the caller gets the error at once. In a cluster and
        with Sentinel another server may take over, so connecting is retried until the deadline.
        """
        self._locator.forget()
        if self._locator.can_move:
            return self.pause(error)
        self._lost_connections += 1
        too_often = self._lost_connections >= MAX_LOST_CONNECTIONS
        if not connected or too_often or time.monotonic() >= self._deadline:
            raise self._unavailable(error) from error
        return 0.0

    def pause(self, error: BaseException | None = None) -> float:
        """Seconds to wait for a server that is reachable but not ready."""
        if time.monotonic() + PAUSE >= self._deadline:
            raise self._unavailable(error or TimeoutError("not ready in time")) from error
        return PAUSE

    def evaluate(self, conversation: Conversation, replies: Sequence[Any]) -> Evaluation:
        """Pass the replies to the conversation. Errors that a retry cannot solve are raised."""
        try:
            if conversation.accept(replies):
                return _DONE
        except SlotMoved as moved:
            self._locator.move(moved.node)
            return Evaluation(keep_connection=False, error=moved)
        keep = not any(isinstance(reply, ErrorReply) and reply.code == "READONLY" for reply in replies)
        if not keep:
            self._locator.forget()
        error = next((reply for reply in replies if isinstance(reply, BaseException)), None)
        return Evaluation(keep_connection=keep, pause=not conversation.retry_at_once, error=error)

    def _unavailable(self, error: BaseException) -> StoreUnavailable:
        return StoreUnavailable(self._locator.address.shown, str(error) or type(error).__name__)
