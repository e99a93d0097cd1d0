"""The dashboard inside a FastAPI application: `uvicorn dashboard_fastapi:app`, then http://localhost:8000/jobs/.

The application decides who may see and change what. STORE=postgresql://... or redis://... for more than one process.
"""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.requests import Request

from holdfast import Client, Jobs
from holdfast.dashboard import Access, dashboard

jobs = Jobs()


@jobs.job
async def greet(name: str) -> str:
    return f"hello {name}"


client = Client(os.environ.get("STORE", "memory://"), jobs)


async def authorize(request: Request) -> Access | None:
    """Here a real application looks at its own session or token."""
    match request.headers.get("x-user"):
        case "ada":
            return Access("admin", user="ada")
        case "guest":
            return Access("read", user="guest", types=[greet], redact=lambda value, field: f"({field} hidden)")
        case _:
            return None


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
    async with client:
        yield


app = FastAPI(lifespan=lifespan)
app.mount("/jobs", dashboard(client, authorize))


async def main() -> None:
    """Talk to the application without a network, as a test would."""
    from httpx import ASGITransport, AsyncClient

    async with lifespan(app), AsyncClient(transport=ASGITransport(app), base_url="http://example") as http:
        chain = await client.start(greet.bind("Grace"), delay=3600)
        for user in ("ada", "guest", "other"):
            page = await http.get(f"/jobs/chains/{chain.id}", headers={"x-user": user})
            shown = (
                "Grace" if "Grace" in page.text else "(input hidden)" if "(input hidden)" in page.text else "nothing"
            )
            print(f"{user}: {page.status_code}, sees {shown}")
        same_origin = {"x-user": "guest", "sec-fetch-site": "same-origin"}
        refused = await http.post("/jobs/change/cancel", data={"id": chain.id}, headers=same_origin)
        print(f"guest cancels: {refused.status_code}")


if __name__ == "__main__":
    asyncio.run(main())
