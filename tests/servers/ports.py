"""Ports for servers that a test starts, stops and starts again.

The system gives outgoing connections ports from 32768 on. A server with such a port that is stopped may find it taken
when it starts again: by any connection, even by that of a client which tries to reach it, from and to the same port.
So these ports are lower, and each process of the test runner has its own part of them.
"""

from __future__ import annotations

import itertools
import os
import random
import socket

FIRST, COUNT, PARTS = 12_000, 10_000, 8
BUS = 10_000
"""A node of a Redis cluster also uses the port with this distance. No port is given that is another one's."""


def _shuffled() -> list[int]:
    runner = os.environ.get("PYTEST_XDIST_WORKER", "")
    part = int(runner.removeprefix("gw")) % PARTS if runner else os.getpid() % PARTS
    size = COUNT // PARTS
    ports = list(range(FIRST + part * size, FIRST + (part + 1) * size))
    random.SystemRandom().shuffle(ports)
    return ports


_ports = itertools.cycle(_shuffled())


def free_port() -> int:
    """A free port that this process has not used for long."""
    return next(port for port in _ports if _is_free(port) and _is_free(port + BUS))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
