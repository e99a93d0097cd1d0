"""The dashboard inside a Starlette application, below two paths: `uvicorn dashboard_starlette:app`."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount

from holdfast import Client, Jobs
from holdfast.dashboard import Access, dashboard

jobs = Jobs()


@jobs.job
async def greet(name: str) -> str:
    return f"hello {name}"


client = Client(os.environ.get("STORE", "memory://"), jobs)


def authorize(request: Request) -> Access | None:
    """A plain function runs in a thread: it may query a database."""
    user = request.headers.get("x-user")
    return Access("operate", user=user) if user else None


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncGenerator[None]:
    async with client:
        yield


app = Starlette(routes=[Mount("/ops", routes=[Mount("/jobs", dashboard(client, authorize))])], lifespan=lifespan)


async def main() -> None:
    from httpx import ASGITransport, AsyncClient

    headers = {"x-user": "ada", "sec-fetch-site": "same-origin"}
    async with (
        lifespan(app),
        AsyncClient(transport=ASGITransport(app), base_url="http://example", headers=headers) as http,
    ):
        chain = await client.start(greet.bind("Grace"), delay=3600)
        answer = await http.post("/ops/jobs/change/cancel", data={"id": chain.id, "next": "/ops/jobs/chains"})
        print(f"cancelled, then {answer.headers['location']}")
        (entry,) = await client.audit(chain)
        print(f"audit: {entry.user} {entry.action}")


if __name__ == "__main__":
    asyncio.run(main())
