"""The abort signal reaches every waiter."""

from __future__ import annotations

import asyncio
import threading

from holdfast.worker.abort_signal import Signal


def test_a_waiter_on_a_closed_event_loop_does_not_affect_the_others() -> None:
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

    other.join(60)
    assert received == ["timeout"]
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    waiting.close()
