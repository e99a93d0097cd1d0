"""The event loop watches an exclusive socket between two waits, and stops before the socket is closed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from holdfast.stores.postgres.connection.socket_watch import SocketWatch


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    here, there = socket.socketpair()
    here.setblocking(False)
    there.setblocking(False)
    with here, there:
        yield here, there


Ends = tuple[socket.socket, socket.socket]


def reader(end: socket.socket) -> Callable[[], None]:
    """Reads what is available, as a driver does."""

    def read() -> None:
        with suppress(BlockingIOError):
            end.recv(4096)

    return read


def is_watched(end: socket.socket) -> bool:
    """Whether the loop watches the socket. Ends the watch."""
    return asyncio.get_running_loop().remove_reader(end)


async def test_an_exclusive_socket_is_still_watched_after_a_wait(ends: Ends) -> None:
    here, there = ends
    watch = SocketWatch(here.fileno(), reader(here), exclusive=True)

    for _ in range(2):
        there.send(b"!")
        await watch.wait(writes=False)

    assert is_watched(here)


async def test_the_data_of_a_wait_does_not_end_the_next_one(ends: Ends) -> None:
    here, there = ends
    watch = SocketWatch(here.fileno(), reader(here), exclusive=True)
    there.send(b"!")
    await watch.wait(writes=False)

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(watch.wait(writes=False), 0.05)

    assert is_watched(here)


async def test_a_wait_raises_the_error_of_the_read(ends: Ends) -> None:
    here, there = ends

    def fail() -> None:
        raise ConnectionError("closed")

    watch = SocketWatch(here.fileno(), fail, exclusive=True)
    there.send(b"!")

    with pytest.raises(ConnectionError):
        await watch.wait(writes=False)

    is_watched(here)


async def test_a_shared_socket_is_watched_only_during_a_wait(ends: Ends) -> None:
    here, there = ends
    watch = SocketWatch(here.fileno(), reader(here), exclusive=False)
    there.send(b"!")

    await watch.wait(writes=False)

    assert not is_watched(here)


async def test_a_wait_for_writing_needs_no_incoming_data(ends: Ends) -> None:
    here, _ = ends

    await SocketWatch(here.fileno(), reader(here), exclusive=True).wait(writes=True)

    assert not asyncio.get_running_loop().remove_writer(here)


async def test_a_socket_that_is_not_exclusive_any_more_is_unwatched_after_the_next_wait(ends: Ends) -> None:
    here, there = ends
    watch = SocketWatch(here.fileno(), reader(here), exclusive=True)
    there.send(b"!")
    await watch.wait(writes=False)

    watch.exclusive = False
    there.send(b"!")
    await watch.wait(writes=False)

    assert not is_watched(here)


async def test_data_outside_a_wait_ends_the_watch(ends: Ends) -> None:
    here, there = ends
    watch = SocketWatch(here.fileno(), reader(here), exclusive=True)
    await watch.wait(writes=True)

    there.send(b"!")
    other = SocketWatch(there.fileno(), reader(there), exclusive=False)
    for _ in range(2):
        here.send(b"!")
        await other.wait(writes=False)  # the loop has polled all sockets

    assert not is_watched(here)


async def test_a_socket_that_another_thread_closes_is_unwatched_first(ends: Ends) -> None:
    here, _ = ends
    watch = SocketWatch(here.fileno(), reader(here), exclusive=True)
    await watch.wait(writes=True)
    closed = asyncio.Event()
    watched: list[bool] = []

    def close() -> None:
        watched.append(is_watched(here))
        closed.set()

    await asyncio.to_thread(watch.end, close)
    await closed.wait()

    assert watched == [False]
