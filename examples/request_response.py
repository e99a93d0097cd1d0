"""Request and response: start a chain and wait for its output, or for the error with which it failed."""

import asyncio
import tempfile
from dataclasses import dataclass

from holdfast import ChainFailed, Client, Fail, Jobs, WaitTimeout, Worker


@dataclass
class Quote:
    """Inputs and outputs are typed: what goes in comes out as the same type."""

    product: str
    cents: int


jobs = Jobs()


@jobs.job
async def quote(product: str, amount: int) -> Quote:
    if amount < 1:
        raise Fail(f"cannot quote {amount} pieces")  # no retries: trying again would not help
    return Quote(product, 1999 * amount)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with Client(f"sqlite:///{folder}/jobs.db", jobs) as client:
            chain = await client.start(quote.bind("teapot", amount=1))
            try:
                await client.wait(chain, timeout=0.05)
            except WaitTimeout:
                print("no worker yet: the wait ends, the chain continues")
            async with Worker(client):
                print(await client.wait(chain, timeout=10))
                print(await client.run(quote.bind("teapot", amount=3), timeout=10))
                try:
                    await client.run(quote.bind("teapot", amount=0), timeout=10)
                except ChainFailed as failure:
                    print("failed:", failure.error)


if __name__ == "__main__":
    asyncio.run(main())
