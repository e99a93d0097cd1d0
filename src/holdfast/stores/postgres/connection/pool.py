"""Pools of our own connections. A connection that met an error, or whose user was cancelled, is not used again."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Final, TypeVar

from holdfast.errors import HoldfastError
from holdfast.stores.postgres.connection.connect import AsyncConnect, Connect
from holdfast.stores.postgres.connection.connection import AsyncLink, Link
from holdfast.stores.postgres.connection.pool_slots import Place, Places
from holdfast.stores.postgres.errors import NoConnection
from holdfast.stores.sql.plan import Plan

R = TypeVar("R")
L = TypeVar("L", Link, AsyncLink)

IDLE: Final = 60.0
"""Seconds after which a connection that nobody needed is closed: what a burst opened is not kept for ever."""

_BUSY = "all {size} connections are busy; give the address a larger pool="


class Pool:
    """Blocking connections, shared by threads. An exception of a signal handler may end any call at any point."""

    def __init__(self, connect: Connect, size: int, patience: float) -> None:
        self._connect = connect
        self._size = size
        self._patience = patience
        self._places = Places(size)
        self._idle: list[Link] = []
        self._closed = False

    def run(self, plan: Plan[R]) -> R:
        """Run a plan on some connection and commit it. What it leaves unfinished is undone."""
        place = Place()
        try:
            return self._run(plan, place)
        finally:
            self._places.line.pop(place, None)
            self._places.wake()

    def _run(self, plan: Plan[R], place: Place) -> R:
        link = self._take(place)
        try:
            answer = link.run(plan)
        except HoldfastError:
            # Raised by a plan that will not write: nothing is wrong with the connection.
            self._rest(link)
            raise
        except BaseException:
            # One call, which no signal handler can interrupt: the exchange may be half done.
            link.connection.pgconn.finish()
            raise
        self._rest(link)
        return answer

    def take(self) -> Link:
        """A connection for a transaction. It is given back or discarded."""
        place = Place()
        try:
            link = self._take(place)
        except BaseException:
            self._places.leave(place)
            raise
        link.place = place
        return link

    def give_back(self, link: Link) -> None:
        try:
            self._rest(link)
        finally:
            self._leave(link)

    def discard(self, link: Link) -> None:
        link.close()
        self._leave(link)

    def close(self) -> None:
        self._closed = True
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _take(self, place: Place) -> Link:
        if not self._places.enter(place, self._patience):
            raise NoConnection(_BUSY.format(size=self._size))
        while self._idle:
            try:
                link = self._idle.pop()
            except IndexError:  # another thread took it
                break
            if link.alive:
                return link
            link.close()
        return self._connect()

    def _rest(self, link: Link) -> None:
        try:
            link.rollback()
        except BaseException:
            link.connection.pgconn.finish()
            raise
        _rest(self._idle, link)
        if self._closed:  # looked at last: a pool that is closed just now, by another thread, keeps no connection
            self.close()

    def _leave(self, link: Link) -> None:
        place, link.place = link.place, None
        if place is not None:
            self._places.leave(place)


class AsyncPool:
    """Async connections, shared by the tasks of one event loop."""

    def __init__(self, connect: AsyncConnect, size: int, patience: float) -> None:
        self._connect = connect
        self._size = size
        self._patience = patience
        self._places = asyncio.Semaphore(size)
        self._idle: list[AsyncLink] = []
        self._closed = False

    async def run(self, plan: Plan[R]) -> R:
        """Run a plan on some connection and commit it. What it leaves unfinished is undone."""
        link = await self.take()
        try:
            answer = await link.run(plan)
        except HoldfastError:
            await self.give_back(link)
            raise
        except BaseException:
            self.discard(link)
            raise
        await self.give_back(link)
        return answer

    async def take(self) -> AsyncLink:
        if self._places.locked():
            try:
                await asyncio.wait_for(self._places.acquire(), self._patience)
            except TimeoutError:
                raise NoConnection(_BUSY.format(size=self._size)) from None
        else:
            await self._places.acquire()
        try:
            while self._idle:
                link = self._idle.pop()
                if link.alive:
                    return link
                link.close()
            return await self._connect()
        except BaseException:
            self._places.release()
            raise

    async def give_back(self, link: AsyncLink) -> None:
        try:
            await link.rollback()
        except BaseException:
            self.discard(link)
            raise
        _rest(self._idle, link)
        if self._closed:  # looked at last: a pool that is closed just now, by another thread, keeps no connection
            self.close()
        self._places.release()

    def discard(self, link: AsyncLink) -> None:
        link.close()
        self._places.release()

    def close(self) -> None:
        self._closed = True
        with suppress(IndexError):
            while True:
                self._idle.pop().close()


def _rest(idle: list[L], link: L) -> None:
    """Keep a connection for later, and close one that has rested for too long: the last one used is used next."""
    link.idle_since = now = time.monotonic()
    idle.append(link)
    with suppress(IndexError):  # other threads take from it, too; one that is closed for nothing is opened again
        if now - idle[0].idle_since > IDLE:
            idle.pop(0).close()
