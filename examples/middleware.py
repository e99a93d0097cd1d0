"""Something around every attempt: a middleware that times it, and one that gives the handler a context."""

import asyncio
import tempfile
import time
from contextvars import ContextVar
from typing import Any

from holdfast import Attempt, Client, Jobs, Retry, Worker
from holdfast.worker.middleware import CallNext

tenant: ContextVar[str] = ContextVar("tenant", default="none")

jobs = Jobs()


@jobs.job(retry=Retry(initial=0.01))
async def greet(attempt: Attempt, name: str) -> str:
    if attempt.job.attempt == 1:
        raise ConnectionError("the mail server is busy")
    return f"hello {name}, from {tenant.get()}"


async def timing(attempt: Any, call_next: CallNext) -> Any:
    """Sees the handler's value, and its error too."""
    begun = time.perf_counter()
    try:
        result = await call_next()
    except Exception as error:
        print(f"{attempt.job.type} attempt {attempt.job.attempt} raised {error!r}")
        raise
    took = time.perf_counter() - begun
    print(f"{attempt.job.type} attempt {attempt.job.attempt} returned {result!r} in under a second: {took < 1}")
    return result


async def with_tenant(attempt: Any, call_next: CallNext) -> Any:
    """What is set here, the handler sees; in a thread too."""
    tenant.set("acme")
    return await call_next()


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        client = Client(f"sqlite:///{folder}/jobs.db", jobs)
        async with client, Worker(client, middlewares=[timing, with_tenant]):  # the first is outermost
            await client.run(greet.bind(name="Ada"), timeout=10)


if __name__ == "__main__":
    asyncio.run(main())
