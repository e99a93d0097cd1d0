"""An order: one payment, a reservation that commits with its checkpoint, and a label that is waited for."""

import asyncio
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

from holdfast import Attempt, Client, Jobs, Retry, Worker

jobs = Jobs()
payments: dict[str, str] = {}
"""The payment service: it answers the same for a request with the same key."""
crashes = {"after the payment"}


async def charge(order: int, key: str) -> str:
    print(f"charging order {order}")
    return payments.setdefault(key, f"payment-{len(payments) + 1}")


async def reserve(tx: Any, order: int) -> int:
    """The row, the result and the checkpoint are one commit."""
    await tx.execute("insert into reservation (item) values (?)", [f"order {order}"])
    return order


@jobs.job(retry=Retry(initial=0.05, jitter=0))
async def fulfil(attempt: Attempt, order: int) -> str:
    payment = await attempt.step("charge", charge, order, attempt.step_id("charge"))
    await attempt.tx_step("reserve", reserve, order)
    if crashes:
        raise ConnectionError(f"the process ended {crashes.pop()}")
    label = await attempt.receive("label-printed", str, timeout=86400)
    return f"order {order}: {payment}, label {label}, attempt {attempt.job.attempt}"


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "shop.db"
        async with Client(f"sqlite:///{file}", jobs) as client:
            connection = sqlite3.connect(file)
            connection.execute("create table reservation (item text)")
            suspended = asyncio.Event()
            loop = asyncio.get_running_loop()

            def observe(event: Any) -> None:
                if event.kind == "suspended":
                    loop.call_soon_threadsafe(suspended.set)

            async with Worker(client, observers=[observe]):
                chain = await client.start(fulfil.bind(order=7))
                await suspended.wait()
                explanation = await client.explain(chain)
                print(explanation.text if explanation else "")
                await client.send(chain, "label-printed", "A-17")
                print(await client.wait(chain, timeout=10))
            print("steps:", ", ".join(step.name for step in await client.steps(chain)))
            (reservations,) = connection.execute("select count(*) from reservation").fetchone()
            print("payments:", len(payments), "reservations:", reservations)
            connection.close()


if __name__ == "__main__":
    asyncio.run(main())
