"""A worker process: ``python -m tests.process.worker URL OPTIONS``. Prints every event as a line of JSON.

With the option `always_ahead`, every measured type is claimed ahead, however long its attempts take. With `slow_store`,
the store may take long to report why claims were lost, as it may on a busy machine.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from holdfast import Client, Event, Worker
from holdfast.worker import ahead, ahead_size, durations, lease_guard, slots
from tests.process.handlers import jobs


def show(event: Event) -> None:
    shown: dict[str, Any] = {"kind": event.kind, "job_id": event.job_id, "type": event.type, "attempt": event.attempt}
    sys.stdout.write(json.dumps(shown | {"detail": event.detail}) + "\n")
    sys.stdout.flush()


def claim_always_ahead() -> None:
    durations.FAST = ahead_size.WINDOW = ahead_size.STORE_WINDOW = 1e9
    for module in (ahead, slots):
        module.OVERDUE = 1e9  # type: ignore[attr-defined]
    durations.ASSUMED = 0.0


async def main(url: str, options: dict[str, Any]) -> None:
    if options.pop("always_ahead", False):
        claim_always_ahead()
    if options.pop("slow_store", False):
        lease_guard.answer_timeout = lambda shortest: 60.0
    async with Client(url, jobs, observers=[show]) as client:
        await Worker(client, **options).run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
