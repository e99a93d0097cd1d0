"""The faults that a proxy can make, for any server behind it."""

from __future__ import annotations

import time

from torture.grounds.ground import Fault
from torture.proxy import Mode, Proxy


def proxy_faults(proxy: Proxy, requests: bytes) -> list[Fault]:
    """Slow, half-open, reset, refused; and cut between a request of this kind (or any) and its answer."""

    def in_mode(mode: Mode, seconds: float) -> None:
        proxy.delay, proxy.mode = 0.2, mode
        time.sleep(seconds)
        proxy.mode = "pass"

    def refuse(seconds: float) -> None:
        proxy.mode = "refuse"
        proxy.reset()
        time.sleep(seconds)
        proxy.mode = "pass"

    def reset() -> None:
        proxy.reset(0.6)

    def cut(like: bytes) -> None:
        before = proxy.cut
        proxy.cut_answers(4, like)
        deadline = time.monotonic() + 2
        while proxy.cut < before + 4 and time.monotonic() < deadline:
            time.sleep(0.02)
        proxy.cut_answers(0)

    return [
        Fault("slow network", lambda seconds: in_mode("delay", seconds), longest=2.0),
        Fault("half-open connections", lambda seconds: in_mode("stall", seconds), longest=2.5),
        Fault("connections reset", lambda seconds: reset()),
        Fault("network cut", refuse, longest=1.5),
        Fault("answers cut off", lambda seconds: cut(requests)),
        Fault("any answers cut off", lambda seconds: cut(b"")),
    ]
