"""Fan-out and fan-in: count terms in many texts, then report when all are counted."""

import asyncio
import tempfile

from holdfast import Attempt, Client, Jobs, Worker

TEXTS = {
    "first": "the quick brown fox jumps over the lazy dog",
    "second": "pack my box with five dozen liquor jugs",
    "third": "how vexingly quick daft zebras jump",
}

jobs = Jobs()


@jobs.job
def count(text: str) -> int:
    """A plain function: it runs in a thread."""
    return len(text.split())


@jobs.job
async def report(attempt: Attempt, names: list[str]) -> dict[str, int]:
    """Runs when every chain it was started after is completed; `blockers` are their outputs, in order."""
    return dict(zip(names, attempt.blockers, strict=True))


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with Client(f"sqlite:///{folder}/jobs.db", jobs) as client:
            counts = await client.start_many([count.bind(text=text) for text in TEXTS.values()])
            reported = await client.start(report.bind(names=list(TEXTS)), after=counts)
            print("before a worker runs, the report is", reported.status)
            async with Worker(client):
                result = await client.wait(reported, timeout=10)
            print(result, "sum", sum(result.values()))


if __name__ == "__main__":
    asyncio.run(main())
