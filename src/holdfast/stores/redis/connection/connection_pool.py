"""Connections, and the two drivers that carry out a conversation over them: one blocking, one async."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Sequence
from typing import Any

from holdfast.errors import StoreUnavailable
from holdfast.stores.redis.connection.async_connection import Stream, connect
from holdfast.stores.redis.connection.conversation import CUT, MOST_CUTS, PAUSE, Conversation, Moved, Refused, Scripts
from holdfast.stores.redis.connection.node_locator import Route
from holdfast.stores.redis.connection.sync_connection import Line

IDLE_KEPT = 16
"""Blocking connections kept open while nobody uses them."""
AT_ONCE = 64
"""Async connections of one event loop. A burst of tasks takes turns: one for each would use up the process's files, or
the server's clients, and opening one takes longer than a short turn."""


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
        self._idle: list[Line] = []
        self._forks = _forks

    def talk(self, conversation: Conversation) -> list[Any]:
        """Carry out a conversation within the address's timeout. Raises StoreUnavailable."""
        if self._forks != _forks:
            self._forget_parent()
        patience = _Patience(self._route)
        while True:
            line: Line | None = None
            connected = False
            try:
                line = self._take(patience)
                connected = True
                replies = line.exchange(conversation.commands(), patience.left)
            except CUT as error:
                self._drop(line)
                self.close()
                time.sleep(patience.cut(error, connected=connected))
                continue
            except BaseException:
                self._drop(line)
                raise
            try:
                if conversation.accept(replies):
                    self._give(line)
                    return conversation.replies
            except Moved as moved:
                self._drop(line)
                self.close()
                self._route.move(moved.node)
                time.sleep(patience.wait(moved))
            except BaseException:
                self._give(line)
                raise
            else:
                self._again(line, replies)
                if not _hurried(conversation):
                    time.sleep(patience.wait(_first_error(replies)))

    def close(self) -> None:
        """Let go of the connections nobody is using."""
        with self._lock:
            idle, self._idle = self._idle, []
        for line in idle:
            line.close()

    def _again(self, line: Line, replies: Sequence[Any]) -> None:
        if any(_dismisses(reply) for reply in replies):
            self._drop(line)
            self.close()
            self._route.lose()
        else:
            self._give(line)

    def _take(self, patience: _Patience) -> Line:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._route.connect(patience.left)

    def _give(self, line: Line) -> None:
        with self._lock:
            if len(self._idle) < IDLE_KEPT:
                self._idle.append(line)
                return
        line.close()

    def _forget_parent(self) -> None:
        # A forked child has copies of its parent's connections: whoever of the two read first would take the other's
        # answers. Another thread of the parent may have held the lock.
        self._lock, self._forks = threading.Lock(), _forks
        self.close()

    @staticmethod
    def _drop(line: Line | None) -> None:
        if line is not None:
            line.close()


class AsyncLinks:
    """Async connections of one event loop. Any number of tasks may talk, each over one of its own in its turn."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._idle: list[Stream] = []
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._shut = False

    async def talk(self, conversation: Conversation) -> list[Any]:
        """Carry out a conversation within the address's timeout. Raises StoreUnavailable."""
        patience = _Patience(self._route)
        while True:
            stream: Stream | None = None
            try:
                stream = await self._take(patience)
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
                    self.close()
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

    def shut(self) -> None:
        """Let go of every connection: those in use are closed when they are given back."""
        self._shut = True
        self.close()

    async def _take(self, patience: _Patience) -> Stream:
        """A connection, and a turn that ends when it is given back or dropped."""
        if self._turns.locked():
            try:
                async with asyncio.timeout(patience.left):
                    await self._turns.acquire()
            except TimeoutError:
                raise TimeoutError(f"no turn in time: {AT_ONCE} other calls waited for answers all the while") from None
        else:
            await self._turns.acquire()
        try:
            return self._idle.pop() if self._idle else await self._connect(patience)
        except BaseException:
            self._turns.release()
            raise

    async def _connect(self, patience: _Patience) -> Stream:
        if not self._route.settled:
            await asyncio.to_thread(self._route.find, patience.left)
        return await connect(self._route.address, self._route.node, patience.left)

    def _give(self, stream: Stream) -> None:
        if stream.stands and not self._shut:
            self._idle.append(stream)
        else:
            stream.close()
        self._turns.release()

    def _drop(self, stream: Stream | None) -> None:
        if stream is not None:
            stream.close()
            self._turns.release()


def _hurried(conversation: Conversation) -> bool:
    return isinstance(conversation, Scripts) and conversation.hurried


def _dismisses(reply: Any) -> bool:
    """Whether this node says that it is not the one to talk to."""
    return isinstance(reply, Refused) and reply.word == "READONLY"


def _first_error(replies: Sequence[Any]) -> BaseException | None:
    return next((reply for reply in replies if isinstance(reply, BaseException)), None)


_forks = 0
"""How many times this process, or one it comes from, was forked: asking for its number each time would be a call to the
system for every request."""


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)
