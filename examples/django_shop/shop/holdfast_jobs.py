"""The jobs of the shop. Django imports this module of each app."""

from holdfast import Bound, Jobs, Limit, SyncAttempt
from shop.models import Order, Report

jobs = Jobs()

LARGE = 1000
"""Orders of this amount wait for an approval."""


@jobs.job(limits=[Limit("orders-per-customer", 2, by="customer")])
def charge(attempt: SyncAttempt, order: int, customer: str) -> str | Bound[str]:
    """Two orders of a customer at a time. The payment and the next job commit together."""
    amount = Order.objects.get(pk=order).amount
    with attempt.complete() as done:
        Order.objects.filter(pk=order).update(state="paid")
        if amount >= LARGE:
            return done.continue_with(approve.bind(order=order))
        return done.continue_with(ship.bind(order=order))


@jobs.declare
def approve(order: int) -> str:
    """No worker runs this: a person completes it, see `orders.approve`."""


@jobs.job
def ship(attempt: SyncAttempt, order: int) -> str:
    with attempt.complete() as done:
        Order.objects.filter(pk=order).update(state="shipped")
        return done.output(f"order {order} is shipped")


@jobs.job
def report() -> int:
    """Count the orders of each state."""
    states = [order.state for order in Order.objects.all()]
    Report.objects.create(text=", ".join(f"{states.count(state)} {state}" for state in sorted(set(states))))
    return len(states)


jobs.schedule("nightly-report", report.bind(), cron="30 2 * * *", tz="Europe/Paris")
