"""The proxy: passes, resets, stalls, and cuts between a request and its answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator

import pytest

from torture.proxy import Proxy


class Echo:
    """A server that answers each request with the same bytes, and remembers them."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.heard: list[bytes] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                while data := connection.recv(1000):
                    self.heard.append(data)
                    connection.sendall(data)
            except OSError:
                return


@pytest.fixture
def server() -> Generator[Echo]:
    server = Echo()
    yield server
    server.listener.close()


@pytest.fixture
def proxy(server: Echo) -> Generator[Proxy]:
    proxy = Proxy(server.listener.getsockname())
    yield proxy
    proxy.close()


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=10)


def test_bytes_pass_both_ways(proxy: Proxy) -> None:
    with connect(proxy) as client:
        client.sendall(b"hello")

        assert client.recv(100) == b"hello"


def test_an_answer_is_cut_off_after_the_server_heard_the_request(proxy: Proxy, server: Echo) -> None:
    with connect(proxy) as client:
        client.sendall(b"begin")
        assert client.recv(100) == b"begin"
        proxy.cut_answers(1, b"commit")
        client.sendall(b"COMMIT")

        assert client.recv(100) == b""
    assert server.heard == [b"begin", b"COMMIT"]
    assert proxy.cut == 1


def test_only_requests_of_the_kind_are_cut(proxy: Proxy) -> None:
    with connect(proxy) as client:
        proxy.cut_answers(1, b"commit")
        client.sendall(b"select")

        assert client.recv(100) == b"select"


def test_a_reset_ends_connections(proxy: Proxy) -> None:
    with connect(proxy) as client:
        client.sendall(b"hello")
        client.recv(100)
        assert proxy.reset() == 1

        with pytest.raises(OSError, match=r"reset|aborted"):
            _until_closed(client)


def test_a_stalled_connection_stays_open_and_says_nothing(proxy: Proxy) -> None:
    with connect(proxy) as client:
        client.sendall(b"one")
        client.recv(100)
        proxy.mode = "stall"
        client.sendall(b"two")
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.recv(100)

        proxy.mode = "pass"
        client.settimeout(10)
        assert client.recv(100) == b"two"


def _until_closed(client: socket.socket) -> None:
    if client.recv(100) == b"":
        raise ConnectionResetError("reset by the proxy")
