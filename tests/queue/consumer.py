"""A consumer in a process of its own: python -m tests.queue.consumer ADDRESS OPTIONS. Prints what happens as JSON."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from functools import partial
from typing import Any

from holdfast import Queue, QueueJob, Retry
from holdfast.queue.event_relay import EVENTS


def emit(event: str, *values: Any) -> None:
    sys.stdout.write(json.dumps([event, *map(str, values)]) + "\n")
    sys.stdout.flush()


async def handle(job: QueueJob[Any]) -> Any:
    emit("begun", job.id, job.attempts)
    match job.payload:
        case "hang":
            await asyncio.Event().wait()
        case "hang once" if job.attempts == 1:
            await asyncio.Event().wait()
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "die once" if job.attempts == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        case _:
            return {"echo": job.payload, "attempts": job.attempts, "process": os.getpid()}
    return "survived"


async def main(address: str, options: dict[str, Any]) -> None:
    queue: Queue[Any, Any] = Queue("emails", store=address, retry=Retry(initial=0, jitter=0), **options)
    for event in EVENTS:
        queue.on(event, partial(emit, event))
    queue.execute(handle)
    await queue.run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
