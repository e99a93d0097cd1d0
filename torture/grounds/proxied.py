"""The faults that a proxy can make, for any server behind it."""

from __future__ import annotations

import time

from torture.grounds.harness import AT_ONCE, Fault
from torture.proxy import Mode, Proxy

DEADLINE = 5.0
"""Seconds after which a store gives up a request, as the grounds set them up."""
DEAD = 0.3
"""The share of connections that go dead for good."""


def proxy_faults(proxy: Proxy, requests: bytes, *, deadline: float = DEADLINE) -> list[Fault]:
    """Slow, half-open, reset, refused; and cut between a request of this kind (or any) and its answer."""

    def in_mode(mode: Mode, seconds: float) -> bool:
        before = proxy.hindered
        proxy.delay, proxy.mode = 0.2, mode
        time.sleep(seconds)
        proxy.mode = "pass"
        return proxy.hindered > before

    def half_open(seconds: float) -> bool:
        """Some connections are dead from now on, the others stall for a while. Over once somebody gave a dead one up,
        and whoever was in the middle of a request has had the time to.
        """
        begun, before = time.monotonic(), proxy.given_up
        proxy.deaden(DEAD)
        in_mode("stall", seconds)
        while time.monotonic() < begun + deadline:
            time.sleep(0.02)
        while proxy.given_up == before and time.monotonic() < begun + 2 * deadline:
            time.sleep(0.02)
        return proxy.given_up > before

    def refuse(seconds: float) -> bool:
        before = proxy.hindered
        proxy.mode = "refuse"
        cut = proxy.reset()
        time.sleep(seconds)
        proxy.mode = "pass"
        return cut > 0 and proxy.hindered > before

    def cut(like: bytes) -> bool:
        before = proxy.cut
        proxy.cut_answers(4, like)
        until = time.monotonic() + 2
        while proxy.cut < before + 4 and time.monotonic() < until:
            time.sleep(0.02)
        proxy.cut_answers(0)
        return proxy.cut > before

    return [
        Fault("slow network", lambda seconds: in_mode("delay", seconds), outage=False, longest=2.0),
        Fault("half-open connections", half_open, longest=2.5),
        Fault("connections reset", lambda seconds: proxy.reset(0.6) > 0, recovery=AT_ONCE),
        Fault("network cut", refuse, longest=1.5),
        Fault("answers cut off", lambda seconds: cut(requests), recovery=AT_ONCE),
        Fault("any answers cut off", lambda seconds: cut(b""), recovery=AT_ONCE),
    ]
