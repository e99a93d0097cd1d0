"""A worker process: ``python -m tests.process.worker URL OPTIONS``. Prints every event as a line of JSON."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from holdfast import Client, Event, Worker
from tests.process.handlers import jobs


def show(event: Event) -> None:
    shown: dict[str, Any] = {"kind": event.kind, "job_id": event.job_id, "type": event.type, "attempt": event.attempt}
    sys.stdout.write(json.dumps(shown | {"detail": event.detail}) + "\n")
    sys.stdout.flush()


async def main(url: str, options: dict[str, Any]) -> None:
    async with Client(url, jobs, observers=[show]) as client:
        await Worker(client, **options).run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
