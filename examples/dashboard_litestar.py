"""The dashboard inside a Litestar application: `uvicorn dashboard_litestar:app`, then http://localhost:8000/jobs/.

Litestar removes the path of a mounted application and does not report it, so `root_path` names it.
"""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from litestar import Litestar, asgi
from starlette.requests import Request

from holdfast import Client, Jobs
from holdfast.dashboard import Access, dashboard

jobs = Jobs()


@jobs.job
async def greet(name: str) -> str:
    return f"hello {name}"


client = Client(os.environ.get("STORE", "memory://"), jobs)


def authorize(request: Request) -> Access | None:
    return Access("admin", user="ada") if request.headers.get("x-user") == "ada" else None


@asynccontextmanager
async def lifespan(app: Litestar) -> AsyncGenerator[None]:
    async with client:
        yield


board = dashboard(client, authorize, root_path="/jobs")
app = Litestar([asgi("/jobs", is_mount=True, copy_scope=True)(board)], lifespan=[lifespan], logging_config=None)


async def main() -> None:
    from httpx import ASGITransport, AsyncClient

    async with lifespan(app), AsyncClient(transport=ASGITransport(app), base_url="http://example") as http:
        page = await http.get("/jobs/workers", headers={"x-user": "ada"})
        below = 'href="/jobs/schedules"' in page.text
        print(f"workers: {page.status_code}, links below /jobs: {below}")
        print(f"without a user: {(await http.get('/jobs/workers')).status_code}")


if __name__ == "__main__":
    asyncio.run(main())
