"""The watchdog when its event loop is closed."""

from __future__ import annotations

import asyncio
import threading

import pytest

from holdfast.worker.held_claims import HeldClaims
from holdfast.worker.watchdog import Watchdog


class Busy(HeldClaims):
    """Always reports one running handler."""

    def __len__(self) -> int:
        return 1


def test_the_watchdog_thread_ends_when_a_blocked_loop_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = threading.Event()

    def report(*args: object, **fields: object) -> None:
        reported.set()

    monkeypatch.setattr("holdfast.worker.watchdog.log.warning", report)
    loop = asyncio.new_event_loop()
    before = set(threading.enumerate())

    Watchdog(loop, Busy(), threshold=0.01).start()
    [thread] = set(threading.enumerate()) - before
    assert reported.wait(60)
    loop.close()
    thread.join(60)

    assert not thread.is_alive()
