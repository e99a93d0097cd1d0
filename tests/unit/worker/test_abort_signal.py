"""The abort signal: whoever waits for it, it reaches the others."""

from __future__ import annotations

import asyncio
import threading

from holdfast.worker.abort_signal import Signal


def test_one_who_waited_on_a_loop_that_is_closed_keeps_it_from_nobody() -> None:
    signal = Signal()
    loop = asyncio.new_event_loop()
    waiting = signal.wait()
    task = loop.create_task(waiting)
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    received: list[str | None] = []
    other = threading.Thread(target=lambda: received.append(signal.wait_sync(10)))
    other.start()

    assert signal.fire("timeout")

    other.join(10)
    assert received == ["timeout"]
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    waiting.close()
