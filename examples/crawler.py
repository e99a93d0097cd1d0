"""A crawler with a cursor: after a crash it continues after its last saved position, and repeats at most ten pages."""

import asyncio
import tempfile
from collections.abc import Iterator

from holdfast import Attempt, Client, Jobs, Retry, Worker

jobs = Jobs()
PAGES = [f"page-{number:03}" for number in range(1, 51)]
visited: list[str] = []
crashes = {"page-037"}


def pages_after(last: str | None) -> Iterator[str]:
    """The pages after the last saved one, as a database would return them: `where url > :last order by url`."""
    yield from (page for page in PAGES if last is None or page > last)


@jobs.job(retry=Retry(initial=0.05, jitter=0))
async def crawl(attempt: Attempt) -> str:
    async for page in attempt.cursor("pages", pages_after, every=10):
        if page in crashes:
            crashes.clear()
            raise ConnectionError(f"the process ended at {page}")
        visited.append(page)
    return f"{len(set(visited))} pages"


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with Client(f"sqlite:///{folder}/jobs.db", jobs) as client, Worker(client):
            chain = await client.start(crawl.bind())
            print("visited", await client.wait(chain, timeout=10))
            print("repeated after the crash:", len(visited) - len(set(visited)))


if __name__ == "__main__":
    asyncio.run(main())
