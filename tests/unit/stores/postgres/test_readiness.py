"""An event loop watches a socket of ours between two waits, and never longer than the socket is there."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest

from holdfast.stores.postgres.connection.socket_watch import SocketWatch


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    here, there = socket.socketpair()
    here.setblocking(False)
    with here, there:
        yield here, there


Ends = tuple[socket.socket, socket.socket]


def is_watched(end: socket.socket) -> bool:
    """Tells it, and ends it."""
    return asyncio.get_running_loop().remove_reader(end)


async def test_a_socket_of_ours_is_watched_on_after_a_wait(ends: Ends) -> None:
    here, there = ends
    readiness = SocketWatch(here.fileno(), exclusive=True)

    for _ in range(2):
        there.send(b"!")
        await readiness.wait(writes=False)
        here.recv(1)

    assert is_watched(here)


async def test_a_socket_of_ours_is_watched_on_though_the_loop_looks_again_before_it_is_read(ends: Ends) -> None:
    here, there = ends
    readiness = SocketWatch(here.fileno(), exclusive=True)
    there.send(b"!")

    await readiness.wait(writes=False)
    here.recv(1)
    await asyncio.sleep(0)

    assert is_watched(here)


async def test_a_socket_that_applications_use_too_is_watched_only_while_we_wait(ends: Ends) -> None:
    here, there = ends
    readiness = SocketWatch(here.fileno(), exclusive=False)
    there.send(b"!")

    await readiness.wait(writes=False)

    assert not is_watched(here)


async def test_who_waits_to_write_need_not_be_told_anything(ends: Ends) -> None:
    here, _ = ends

    await SocketWatch(here.fileno(), exclusive=True).wait(writes=True)

    assert not asyncio.get_running_loop().remove_writer(here)


async def test_a_word_that_nobody_waits_for_ends_the_watch(ends: Ends) -> None:
    here, there = ends
    readiness = SocketWatch(here.fileno(), exclusive=True)
    await readiness.wait(writes=True)

    there.send(b"!")
    received = SocketWatch(there.fileno(), exclusive=False)
    for _ in range(2):
        here.send(b"!")
        await received.wait(writes=False)  # the loop has looked at all sockets
        there.recv(1)

    assert not is_watched(here)


async def test_a_socket_that_another_thread_closes_is_forgotten_first(ends: Ends) -> None:
    here, _ = ends
    readiness = SocketWatch(here.fileno(), exclusive=True)
    await readiness.wait(writes=True)
    closed = asyncio.Event()
    watched: list[bool] = []

    def close() -> None:
        watched.append(is_watched(here))
        closed.set()

    await asyncio.to_thread(readiness.end, close)
    await closed.wait()

    assert watched == [False]
