"""The network faults that a proxy can inject, for any server."""

from __future__ import annotations

import time

from torture.harnesses.harness import AT_ONCE, Fault
from torture.proxy import Mode, Proxy

TIMEOUT = 5.0
"""The deadline of a request in seconds, as set in the addresses of the harnesses."""
DEAD = 0.3
"""The share of connections that go dead."""


def proxy_faults(proxy: Proxy, requests: bytes, *, deadline: float = TIMEOUT) -> list[Fault]:
    """Delays, half-open connections, resets, refused connections, and lost answers to requests that match."""
    network = _Network(proxy, deadline)
    return [
        Fault("slow network", lambda seconds: network.in_mode("delay", seconds), outage=False, longest=2.0),
        Fault("half-open connections", network.half_open, longest=2.5),
        Fault("connections reset", lambda seconds: proxy.reset(0.6) > 0, recovery=AT_ONCE),
        Fault("network cut", network.refuse, longest=1.5),
        Fault("answers cut off", lambda seconds: network.cut(requests), recovery=AT_ONCE),
        Fault("any answers cut off", lambda seconds: network.cut(b""), recovery=AT_ONCE),
    ]


class _Network:
    """The faults of one proxy. Each returns whether it affected a connection."""

    def __init__(self, proxy: Proxy, deadline: float) -> None:
        self._proxy = proxy
        self._deadline = deadline

    def in_mode(self, mode: Mode, seconds: float) -> bool:
        proxy, before = self._proxy, self._proxy.hindered
        proxy.delay, proxy.mode = 0.2, mode
        time.sleep(seconds)
        proxy.mode = "pass"
        return proxy.hindered > before

    def half_open(self, seconds: float) -> bool:
        """Some connections go dead, the others stall for some time. Ends when a client has closed a dead connection,
        and after the deadline of every request that was in progress.
        """
        proxy, begun, before = self._proxy, time.monotonic(), self._proxy.given_up
        proxy.deaden(DEAD)
        self.in_mode("stall", seconds)
        while time.monotonic() < begun + self._deadline:
            time.sleep(0.02)
        while proxy.given_up == before and time.monotonic() < begun + 2 * self._deadline:
            time.sleep(0.02)
        return proxy.given_up > before

    def refuse(self, seconds: float) -> bool:
        proxy, before = self._proxy, self._proxy.hindered
        proxy.mode = "refuse"
        cut = proxy.reset()
        time.sleep(seconds)
        proxy.mode = "pass"
        return cut > 0 and proxy.hindered > before

    def cut(self, like: bytes) -> bool:
        proxy, before = self._proxy, self._proxy.cut
        proxy.cut_answers(4, like)
        until = time.monotonic() + 2
        while proxy.cut < before + 4 and time.monotonic() < until:
            time.sleep(0.02)
        proxy.cut_answers(0)
        return proxy.cut > before
