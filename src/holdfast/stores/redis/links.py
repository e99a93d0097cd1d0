"""Connections, and the two drivers that carry out a conversation over them: one blocking, one async."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any

from redis.exceptions import BusyLoadingError, ResponseError

from holdfast.errors import StoreUnavailable
from holdfast.stores.redis.exchange import CUT, MOST_CUTS, PAUSE, Command, Conversation, Moved, Scripts
from holdfast.stores.redis.route import Connection, Route
from holdfast.stores.redis.stream import Stream, connect, packed

IDLE_KEPT = 16
"""Connections kept open while nobody uses them."""


class _Patience:
    """How long to go on. Says for each mishap how many seconds to pause, or raises StoreUnavailable."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._deadline = time.monotonic() + route.address.timeout
        self._cuts = 0

    @property
    def left(self) -> float:
        return max(self._deadline - time.monotonic(), 0.001)

    def cut(self, error: BaseException, *, connected: bool) -> float:
        """The connection failed. Once it stood, the request is sent again over another, since all of them may be."""
        self._route.lose()
        if isinstance(error, BusyLoadingError):
            return self.wait(error)
        if self._route.address.cluster:
            return self.wait(error)
        self._cuts += 1
        if not connected or self._cuts >= MOST_CUTS or time.monotonic() >= self._deadline:
            raise self._unavailable(error) from error
        return 0.0

    def wait(self, error: BaseException | None = None) -> float:
        """The server is there but not ready."""
        if time.monotonic() + PAUSE >= self._deadline:
            raise self._unavailable(error or TimeoutError("not ready in time")) from error
        return PAUSE

    def _unavailable(self, error: BaseException) -> StoreUnavailable:
        return StoreUnavailable(self._route.address.shown, str(error) or type(error).__name__)


class Links:
    """Blocking connections. Any number of threads may talk at once, each over one of its own."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._lock = threading.Lock()
        self._idle: list[Connection] = []

    def talk(self, conversation: Conversation) -> list[Any]:
        """Carry out a conversation within the address's timeout. Raises StoreUnavailable."""
        patience = _Patience(self._route)
        while True:
            connection: Connection | None = None
            connected = False
            try:
                connection = self._take(patience)
                connected = True
                replies = _exchange(connection, conversation.commands())
            except CUT as error:
                self._drop(connection)
                self.close()
                time.sleep(patience.cut(error, connected=connected))
                continue
            except BaseException:
                self._drop(connection)
                raise
            try:
                if conversation.accept(replies):
                    self._give(connection)
                    return conversation.replies
            except Moved as moved:
                self._drop(connection)
                self.close()
                self._route.move(moved.node)
                time.sleep(patience.wait(moved))
            except BaseException:
                self._give(connection)
                raise
            else:
                self._again(connection, conversation, replies)
                if not _hurried(conversation):
                    time.sleep(patience.wait(_first_error(replies)))

    def close(self) -> None:
        """Let go of the connections nobody is using."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.disconnect()

    def _again(self, connection: Connection, conversation: Conversation, replies: Sequence[Any]) -> None:
        if any(_dismisses(reply) for reply in replies):
            self._drop(connection)
            self._route.lose()
        else:
            self._give(connection)

    def _take(self, patience: _Patience) -> Connection:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        self._route.find()
        connection = self._route.connection(patience.left)
        try:
            connection.connect()
        except BaseException:
            connection.disconnect()
            raise
        return connection

    def _give(self, connection: Connection) -> None:
        with self._lock:
            if len(self._idle) < IDLE_KEPT:
                self._idle.append(connection)
                return
        connection.disconnect()

    @staticmethod
    def _drop(connection: Connection | None) -> None:
        if connection is not None:
            connection.disconnect()


class AsyncLinks:
    """Async connections of one event loop. Any number of tasks may talk at once, each over one of its own."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._idle: list[Stream] = []

    async def talk(self, conversation: Conversation) -> list[Any]:
        """Carry out a conversation within the address's timeout. Raises StoreUnavailable."""
        patience = _Patience(self._route)
        while True:
            stream: Stream | None = None
            try:
                stream = self._idle.pop() if self._idle else await self._connect(patience)
                replies = await stream.exchange(conversation.commands(), patience.left)
            except CUT as error:
                connected = stream is not None
                self._drop(stream)
                self.close()
                await asyncio.sleep(patience.cut(error, connected=connected))
                continue
            except BaseException:
                # A cancelled task leaves an answer on its way, which nobody else may take for theirs.
                self._drop(stream)
                raise
            try:
                if conversation.accept(replies):
                    self._give(stream)
                    return conversation.replies
            except Moved as moved:
                self._drop(stream)
                self.close()
                self._route.move(moved.node)
                await asyncio.sleep(patience.wait(moved))
            except BaseException:
                self._give(stream)
                raise
            else:
                if any(_dismisses(reply) for reply in replies):
                    self._drop(stream)
                    self._route.lose()
                else:
                    self._give(stream)
                if not _hurried(conversation):
                    await asyncio.sleep(patience.wait(_first_error(replies)))

    def close(self) -> None:
        """Let go of the connections nobody is using."""
        idle, self._idle = self._idle, []
        for stream in idle:
            stream.close()

    async def _connect(self, patience: _Patience) -> Stream:
        if not self._route.settled:
            await asyncio.to_thread(self._route.find)
        return await connect(self._route.address, self._route.node, patience.left)

    def _give(self, stream: Stream) -> None:
        if stream.stands and len(self._idle) < IDLE_KEPT:
            self._idle.append(stream)
        else:
            stream.close()

    @staticmethod
    def _drop(stream: Stream | None) -> None:
        if stream is not None:
            stream.close()


def _exchange(connection: Connection, commands: Sequence[Command]) -> list[Any]:
    """Send everything, then read everything: an error that answers one command leaves the others' answers in place."""
    for command in commands:  # one by one: the server works on the first while the next is written
        connection.send_packed_command([packed(command)], check_health=False)
    replies: list[Any] = []
    for _ in commands:
        try:
            replies.append(connection.read_response())
        except ResponseError as error:
            replies.append(error)
    return replies


def _hurried(conversation: Conversation) -> bool:
    return isinstance(conversation, Scripts) and conversation.hurried


def _dismisses(reply: Any) -> bool:
    """Whether this node says that it is not the one to talk to."""
    return isinstance(reply, ResponseError) and str(reply).startswith(("READONLY", "You can't write against a read"))


def _first_error(replies: Sequence[Any]) -> BaseException | None:
    return next((reply for reply in replies if isinstance(reply, BaseException)), None)
