"""The tests of the shop. Jobs run in the transaction of each test."""

from datetime import timedelta

from django.test import TestCase
from django.utils import timezone

from holdfast.contrib.django import client
from holdfast.contrib.django.testing import capture_jobs, drain
from holdfast.core.clock import to_micros
from holdfast.errors import WrongJobType
from holdfast.testing import ManualClock
from shop.models import Order, Report
from shop.orders import approve, place


class ShopTests(TestCase):
    def test_a_small_order_is_charged_and_shipped(self):
        order = place("Ada", 120)

        drain()

        order.refresh_from_db()
        self.assertEqual(order.state, "shipped")
        self.assertEqual(client().wait(order.chain), f"order {order.pk} is shipped")

    def test_a_refused_order_leaves_no_job(self):
        with capture_jobs() as started, self.assertRaises(ValueError):
            place("Ada", 0)
        self.assertEqual((started, Order.objects.count()), ([], 0))

    def test_a_large_order_waits_for_an_approval(self):
        order = place("Ada", 5000)

        drain()
        order.refresh_from_db()
        self.assertEqual(order.state, "paid")
        self.assertEqual(client().get(order.chain).job.type, "approve")

        approve(order)
        drain()
        order.refresh_from_db()
        self.assertEqual(order.state, "shipped")
        with self.assertRaises(WrongJobType):
            approve(order)

    def test_the_limit_of_a_customer_is_in_the_store(self):
        place("Ada", 120)
        drain()
        self.assertEqual([(limit.name, limit.number) for limit in client().limits()], [("orders-per-customer", 2)])

    def test_the_report_is_made_at_night(self):
        place("Ada", 120)
        now = timezone.now()

        drain(until=now + timedelta(days=1), clock=ManualClock(to_micros(now)))

        self.assertEqual([report.text for report in Report.objects.all()], ["1 shipped"])
