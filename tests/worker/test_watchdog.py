"""The watchdog, where the loop that it watches ends."""

from __future__ import annotations

import asyncio
import threading

import pytest

from holdfast.worker.held_claims import HeldClaims
from holdfast.worker.watchdog import Watchdog


class Busy(HeldClaims):
    """As if a handler were running."""

    def __len__(self) -> int:
        return 1


def test_a_loop_that_is_closed_while_it_stands_still_keeps_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = threading.Event()

    def report(*args: object, **fields: object) -> None:
        reported.set()

    monkeypatch.setattr("holdfast.worker.watchdog.log.warning", report)
    loop = asyncio.new_event_loop()
    before = set(threading.enumerate())

    Watchdog(loop, Busy(), threshold=0.01).start()
    [thread] = set(threading.enumerate()) - before
    assert reported.wait(10)
    loop.close()
    thread.join(10)

    assert not thread.is_alive()
