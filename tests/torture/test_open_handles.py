"""Connections and files of living processes, read from /proc."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from torture.harnesses.harness import settled
from torture.harnesses.open_handles import connections, files, is_stopped, owner, ports


def test_connections_to_a_port_are_counted_until_they_are_closed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)), socket.create_connection(("127.0.0.1", port)):
            assert connections([os.getpid()], port) == {os.getpid(): 2}

        assert connections([os.getpid()], port) == {os.getpid(): 0}


def test_the_owner_of_a_connection_is_found_by_its_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            near = client.getsockname()[1]

            assert owner(near, port) == os.getpid()
            assert ports(os.getpid(), port) == {near}
        assert owner(near, port) is None


def test_a_process_is_stopped_by_a_signal_or_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert not is_stopped(process.pid)
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        assert is_stopped(process.pid)
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()
        assert is_stopped(process.pid)


def test_open_files_are_counted_each_time(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    path.touch()
    with path.open(), path.open():
        assert files([os.getpid()], path) == {os.getpid(): 2}


def test_a_resource_that_is_closed_soon_is_no_leak() -> None:
    counts = iter([2, 1, 0])

    assert settled(lambda: {"left: connections": next(counts)}) == {"left: connections": 0}


def test_a_resource_that_stays_open_is_reported() -> None:
    assert settled(lambda: {"left: connections": 1}, timeout=0.0) == {"left: connections": 1}
