"""The customers: orders go into the shop's table and into Holdfast in one transaction."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from holdfast import SyncClient
from holdfast.core.job import Chain
from holdfast.demo.jobs import BIG, approve, bill, charge, ship
from holdfast.demo.ledger import ENTER

ORDERS_EACH = 18


@dataclass(frozen=True, slots=True)
class DemoChains:
    """The chains that were started."""

    orders: list[Chain[int]]
    bills: list[Chain[int]]

    @property
    def ids(self) -> list[str]:
        return [chain.id for chain in (*self.orders, *self.bills)]


def place_orders(client: SyncClient, shop: sqlite3.Connection, *, customers: int) -> DemoChains:
    """Insert every order with its chain, and for each customer a bill that waits for the orders, in one transaction."""
    orders: list[Chain[int]] = []
    bills: list[Chain[int]] = []
    shop.execute("begin immediate")
    for customer in range(customers):
        numbers = range(customer * ORDERS_EACH, (customer + 1) * ORDERS_EACH)
        shop.executemany("insert into orders values (?, ?, ?)", [(each, customer, amount(each)) for each in numbers])
        placed = client.start_many([charge.bind(order=each, amount=amount(each)) for each in numbers], tx=shop)
        bills.append(client.start(bill.bind(customer=customer), after=placed, tx=shop))
        orders += placed
    shop.execute("commit")
    return DemoChains(orders, bills)


def approve_order(client: SyncClient, chain: Chain[int]) -> bool:
    """Approve an order: complete the waiting job and continue its chain. Returns whether the job was waiting."""
    with client.completing(chain.id) as current:
        job = current.job
        if job.type != approve.name:
            return False
        current.tx.execute(ENTER, [job.id, job.type, job.input["order"], job.attempt])
        current.continue_with(ship.bind(**job.input))
        return True


def amount(order: int) -> int:
    return BIG + order if order % 60 == 31 else 5 + order * 37 % 400
