"""Remote procedure calls over a queue: the same call twice is computed once, and an error comes back as one."""

import asyncio
import tempfile
from typing import Any

from holdfast import JobFailed, Queue, QueueJob, Retry, content_id


def area(width: float, height: float) -> float:
    if width < 0 or height < 0:
        raise ValueError("a side cannot be negative")
    return width * height


PROCEDURES = {"area": area}


def serve(job: QueueJob[dict[str, Any]]) -> Any:
    """Runs in a thread, since it is a plain function; an async one would run on the event loop."""
    print(f"computing {job.payload['name']}{tuple(job.payload['arguments'])}")
    return PROCEDURES[job.payload["name"]](*job.payload["arguments"])


async def call(queue: Queue[dict[str, Any], Any], name: str, *arguments: Any) -> Any:
    """Call a procedure in whatever process serves the queue. Equal calls share an id, and so a result."""
    request = {"name": name, "arguments": list(arguments)}
    return await queue.enqueue_and_wait(content_id(request), request, timeout=10)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        address = f"sqlite:///{folder}/jobs.db"
        server: Queue[dict[str, Any], Any]
        server = Queue("rpc", store=address, concurrency=8, max_retries=1, retry=Retry(initial=0.05), result_ttl=60)
        server.execute(serve)
        client: Queue[dict[str, Any], Any] = Queue("rpc", store=address, max_retries=0, result_ttl=60)
        async with server, client:
            print(await asyncio.gather(call(client, "area", 3, 4), call(client, "area", 3, 4)))
            try:
                await call(client, "area", -1, 4)
            except JobFailed as failure:
                print(failure.error)


if __name__ == "__main__":
    asyncio.run(main())
