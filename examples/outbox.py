"""An order and its job in one transaction: both are there, or neither is."""

import asyncio
import sqlite3
import tempfile
from pathlib import Path

from holdfast import Attempt, Client, Jobs, SyncClient, Worker

jobs = Jobs()


@jobs.job
async def confirm(attempt: Attempt, order: int) -> str:
    """Mark the order as confirmed, in the transaction that completes the job."""
    async with attempt.complete() as done:
        await done.tx.execute("update orders set confirmed = 1 where number = ?", [order])
        return done.output(f"order {order} is confirmed")


def place_order(client: SyncClient, connection: sqlite3.Connection, number: int, *, fail: bool = False) -> None:
    """The application's own code, with its own connection. `with connection` commits, or rolls back on an error."""
    with connection:
        connection.execute("insert into orders values (?, 0)", [number])
        client.start(confirm.bind(order=number), tx=connection)
        if fail:
            raise RuntimeError("something went wrong after the start")


async def work(address: str) -> None:
    async with Client(address, jobs) as client, Worker(client):
        for chain in (await client.list_chains()).items:
            print(await client.wait(chain, timeout=10))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "shop.db"
        address = f"sqlite:///{file}"
        with SyncClient(address, jobs) as client:
            connection = sqlite3.connect(file)
            connection.execute("create table orders (number integer primary key, confirmed integer not null)")
            place_order(client, connection, 1)
            try:
                place_order(client, connection, 2, fail=True)
            except RuntimeError as error:
                print(f"order 2 was rolled back: {error}")
            asyncio.run(work(address))
            print("orders:", connection.execute("select number, confirmed from orders").fetchall())
            connection.close()


if __name__ == "__main__":
    main()
