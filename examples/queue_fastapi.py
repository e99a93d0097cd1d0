"""A web application that answers a request with what a worker made of it.

Run it with `uvicorn queue_fastapi:app`, and STORE=postgresql://... or redis://... for more than one process. The
application may consume the queue itself, as here, or leave that to others.
"""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, HTTPException

from holdfast import JobFailed, JsonCodec, Queue, QueueJob, WaitTimeout, content_id


@dataclass
class Thumbnail:
    url: str
    width: int = 200


queue: Queue[Thumbnail, str] = Queue(
    "thumbnails", store=os.environ.get("STORE", "memory://"), concurrency=4, max_retries=0,
    payload_codec=JsonCodec(Thumbnail), result_codec=JsonCodec(str),
)  # fmt: skip


@queue.execute
async def make(job: QueueJob[Thumbnail]) -> str:
    if not job.payload.url.startswith("https://"):
        raise ValueError("only https")
    return f"{job.payload.url}?width={job.payload.width}"


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
    async with queue:
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/thumbnails")
async def thumbnail(wanted: Thumbnail) -> dict[str, Any]:
    # Equal requests, at once or within the time to live, are one job.
    id = content_id(wanted)
    try:
        return {"id": id, "thumbnail": await queue.enqueue_and_wait(id, wanted, timeout=10)}
    except WaitTimeout:
        raise HTTPException(202, {"id": id, "detail": "still working; ask for it later"}) from None
    except JobFailed as failure:
        raise HTTPException(422, {"id": id, "detail": str(failure.error)}) from failure


@app.get("/thumbnails/{id}")
async def status(id: str) -> dict[str, Any]:
    found = await queue.status(id)
    if found is None:
        raise HTTPException(404)
    return {"id": id, "state": found.state, "thumbnail": found.result}


async def main() -> None:
    """Talk to the application without a network, as a test would."""
    from httpx import ASGITransport, AsyncClient

    async with lifespan(app), AsyncClient(transport=ASGITransport(app), base_url="http://example") as http:
        made = await http.post("/thumbnails", json={"url": "https://example.org/cat.png"})
        print(made.status_code, made.json()["thumbnail"])
        again = await http.get(f"/thumbnails/{made.json()['id']}")
        print(again.status_code, again.json()["state"])
        refused = await http.post("/thumbnails", json={"url": "ftp://example.org/cat.png"})
        print(refused.status_code, refused.json()["detail"]["detail"])


if __name__ == "__main__":
    asyncio.run(main())
