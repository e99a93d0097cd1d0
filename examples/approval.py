"""A step that a person completes. No worker has a handler for it, so the chain waits there, for minutes or months."""

import asyncio
import tempfile

from holdfast import Bound, Client, Jobs, Worker

jobs = Jobs()


@jobs.job
async def request_leave(person: str, days: int) -> str | Bound[str]:
    """Short leave is granted at once; a longer one waits for an approval."""
    return f"{person} may go" if days <= 1 else await_approval.bind(person=person, days=days)


@jobs.declare
async def await_approval(person: str, days: int) -> str:
    """Completed from outside."""
    raise NotImplementedError


@jobs.job
async def book(person: str, days: int, approved_by: str) -> str:
    return f"{person} is away for {days} days, approved by {approved_by}"


async def is_waiting(client: Client, chain_id: str) -> bool:
    chain = await client.get(chain_id)
    return chain is not None and chain.job.type == await_approval.name


async def approve(client: Client, chain_id: str, approver: str) -> None:
    """What a web page behind a button would do. The chain's current job is locked; of two clicks one wins."""
    async with client.completing(chain_id) as current:
        if current.job.type == await_approval.name:
            await current.continue_with(book.bind(**current.job.input, approved_by=approver))


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with Client(f"sqlite:///{folder}/jobs.db", jobs) as client, Worker(client):
            print(await client.run(request_leave.bind(person="Ada", days=1), timeout=10))

            chain = await client.start(request_leave.bind(person="Grace", days=14))
            while not await is_waiting(client, chain.id):  # noqa: ASYNC110 - a person looks now and then
                await asyncio.sleep(0.02)
            print("Grace's request waits for an approval")
            await approve(client, chain.id, "Edsger")
            print(await client.wait(chain, timeout=10))


if __name__ == "__main__":
    asyncio.run(main())
