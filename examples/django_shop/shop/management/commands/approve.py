"""`manage.py approve ORDER`."""

from django.core.management.base import BaseCommand

from shop.models import Order
from shop.orders import approve


class Command(BaseCommand):
    help = "Approve a large order."

    def add_arguments(self, parser):
        parser.add_argument("order", type=int)

    def handle(self, *, order, **options):
        approve(Order.objects.get(pk=order))
        self.stdout.write(f"order {order} is approved")
