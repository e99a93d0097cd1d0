"""A producer in a process of its own: python -m tests.queue.producer ADDRESS ID PAYLOAD. Prints the result as JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

from holdfast import SyncQueue


def main(address: str, id: str, payload: str) -> None:
    queue: SyncQueue[Any, Any] = SyncQueue("emails", store=address)
    with queue:
        sys.stdout.write(json.dumps(queue.enqueue_and_wait(id, payload)))


if __name__ == "__main__":
    main(*sys.argv[1:])
