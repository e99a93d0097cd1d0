"""What tests with pytest-django see. Each runs twice: the second round finds what the first one has left behind."""

import time

import pytest
from django.db import connection, transaction

from holdfast.contrib.django import client
from holdfast.contrib.django.models import Job
from holdfast.contrib.django.testing import capture_jobs, drain
from shop import tasks
from shop.holdfast_jobs import pay, remember
from shop.models import Note, Order


@pytest.mark.parametrize("again", [False, True])
class Cases:
    def test_the_jobs_of_a_test_run_on_its_connection(self, again):
        order = Order.objects.create(customer="Ada")
        client().start(pay.bind(order=order.pk))
        added = tasks.add.enqueue(1, b=2)

        drain()

        order.refresh_from_db()
        added.refresh()
        assert (order.state, added.return_value) == ("paid", 3)
        assert Note.objects.filter(text=f"receipt {order.pk} committed").exists()

    def test_nothing_of_another_test_is_here(self, again):
        assert not Job.objects.exists()
        assert _ends_with_one_session()

        client().start(remember.bind(text="left behind"))

    def test_capture_jobs_is_the_counterpart_of_the_fixture_for_callbacks(
        self, again, django_capture_on_commit_callbacks
    ):
        seen = []
        captured, callbacks = capture_jobs(execute=True), django_capture_on_commit_callbacks(execute=True)
        with captured as jobs, callbacks, transaction.atomic():
            client().start(remember.bind(text="one"))
            transaction.on_commit(lambda: seen.append(Job.objects.get().status))

        assert seen == ["pending"]
        assert [(job.type, job.status) for job in jobs] == [("remember", "completed")]


@pytest.mark.django_db
class TestInATransaction(Cases):
    pass


@pytest.mark.django_db(transaction=True)
class TestWithCommits(Cases):
    pass


def _ends_with_one_session() -> bool:
    """Whether the database of the test has no session but its own. On the server, a closed session ends a bit later."""
    deadline = time.monotonic() + 60
    while _sessions() > 1:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _sessions() -> int:
    """The sessions of the database of the test; SQLite has none."""
    if connection.vendor == "sqlite":
        return 0
    with connection.cursor() as cursor:
        cursor.execute("select pg_stat_clear_snapshot()")
        cursor.execute(
            "select count(*) from pg_stat_activity"
            " where datname = current_database() and backend_type = 'client backend'"
        )
        return cursor.fetchone()[0]
