"""What the views of the shop would call."""

from django.db import transaction

from holdfast.contrib.django import client
from shop.holdfast_jobs import approve as approve_job
from shop.holdfast_jobs import charge, ship
from shop.models import Order


def place(customer: str, amount: int) -> Order:
    """An order and its job, in one transaction: both exist, or neither."""
    with transaction.atomic():
        order = Order.objects.create(customer=customer, amount=amount)
        order.chain = client().start(charge.bind(order=order.pk, customer=customer)).id
        order.save()
        if amount <= 0:
            raise ValueError("an order has a positive amount")
    return order


def approve(order: Order) -> None:
    """Complete the job that waits for a person, together with the change of the order."""
    with transaction.atomic(), client().completing(order.chain, type=approve_job) as current:
        Order.objects.filter(pk=order.pk).update(state="approved")
        current.continue_with(ship.bind(order=order.pk))
