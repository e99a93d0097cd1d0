"""The proxy: forwards, resets, stalls, makes connections dead, and cuts off answers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator

import pytest

from tests.waiting import wait_until
from torture.harnesses.proxy_faults import proxy_faults
from torture.proxy import Proxy


class Echo:
    """A server that answers each request with the same bytes, and stores them."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.received: list[bytes] = []
        self.connections: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def hang_up(self) -> None:
        for connection in self.connections:
            connection.shutdown(socket.SHUT_RDWR)

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                while data := connection.recv(1000):
                    self.received.append(data)
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
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=60)


def test_bytes_pass_both_ways(proxy: Proxy) -> None:
    with connect(proxy) as client:
        client.sendall(b"hello")

        assert client.recv(100) == b"hello"


def test_an_answer_is_cut_off_after_the_server_received_the_request(proxy: Proxy, server: Echo) -> None:
    with connect(proxy) as client:
        client.sendall(b"begin")
        assert client.recv(100) == b"begin"
        proxy.cut_answers(1, b"commit")
        client.sendall(b"COMMIT")

        assert client.recv(100) == b""
    assert server.received == [b"begin", b"COMMIT"]
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


def test_a_stalled_connection_stays_open_and_sends_nothing(proxy: Proxy) -> None:
    with connect(proxy) as client:
        client.sendall(b"one")
        client.recv(100)
        proxy.mode = "stall"
        client.sendall(b"two")
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.recv(100)

        proxy.mode = "pass"
        client.settimeout(60)
        assert client.recv(100) == b"two"


def test_a_dead_connection_stays_dead_until_its_client_closes_it(proxy: Proxy, server: Echo) -> None:
    with connect(proxy) as client:
        client.sendall(b"one")
        client.recv(100)
        assert proxy.deaden(1.0) == 1
        client.sendall(b"two")
        proxy.reset()
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.recv(100)

        with connect(proxy) as another:
            another.sendall(b"three")
            assert another.recv(100) == b"three"
    wait_until(lambda: proxy.given_up == 1)
    assert server.received == [b"one", b"three"]
    assert proxy.dead == 1


def test_a_dead_connection_does_not_forward_a_close_by_the_server(proxy: Proxy, server: Echo) -> None:
    with connect(proxy) as client:
        client.sendall(b"one")
        client.recv(100)
        proxy.deaden(1.0)
        server.hang_up()
        client.settimeout(0.2)

        with pytest.raises(TimeoutError):
            client.recv(100)


def test_the_server_does_not_notice_that_a_client_is_lost_before_its_release(proxy: Proxy, server: Echo) -> None:
    with connect(proxy) as client:
        client.sendall(b"one")
        client.recv(100)
        lost = proxy.lose({client.getsockname()[1]})
        client.sendall(b"two")
    with connect(proxy) as another:
        another.sendall(b"three")
        assert another.recv(100) == b"three"

    assert server.received == [b"one", b"three"]
    (pair,) = lost
    assert pair[1].fileno() != -1, "the server's end is open"
    proxy.release(lost)
    assert pair[1].fileno() == -1


def test_half_open_connections_count_once_a_client_closed_one(proxy: Proxy) -> None:
    inject = {fault.kind: fault for fault in proxy_faults(proxy, b"", deadline=0.2)}["half-open connections"].inject

    assert not inject(0.0)
    clients = [connect(proxy) for _ in range(40)]  # enough that some go dead with this seed
    wait_until(lambda: proxy.accepted == 40)
    leaving = threading.Thread(target=_give_up_once_dead, args=(proxy, clients))
    leaving.start()
    assert inject(0.0)
    leaving.join()


def test_a_fault_without_clients_has_no_effect(proxy: Proxy) -> None:
    faults = {fault.kind: fault for fault in proxy_faults(proxy, b"", deadline=0.2)}

    for kind in ("slow network", "connections reset", "network cut"):
        assert not faults[kind].inject(0.0)


def _give_up_once_dead(proxy: Proxy, clients: list[socket.socket]) -> None:
    wait_until(lambda: proxy.dead > 0)
    for client in clients:
        client.sendall(b"are you there?")
        client.close()


def _until_closed(client: socket.socket) -> None:
    if client.recv(100) == b"":
        raise ConnectionResetError("reset by the proxy")
