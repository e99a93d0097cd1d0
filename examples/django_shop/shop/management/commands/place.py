"""`manage.py place CUSTOMER AMOUNT`."""

from django.core.management.base import BaseCommand

from shop.orders import place


class Command(BaseCommand):
    help = "Place an order."

    def add_arguments(self, parser):
        parser.add_argument("customer")
        parser.add_argument("amount", type=int)

    def handle(self, *, customer, amount, **options):
        order = place(customer, amount)
        self.stdout.write(f"order {order.pk}: chain {order.chain}")
