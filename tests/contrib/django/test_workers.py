"""A worker and the dashboard of a Django project, with jobs of its database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast import SyncClient
from tests.contrib.django.projects import Project, running
from tests.contrib.django.selection import SELECTED

START_PAY = """
from django.db import transaction
from holdfast.contrib.django import client
from shop.holdfast_jobs import pay, pay_async, remember_async
from shop.models import Order
from shop.tasks import flaky
with transaction.atomic():
    order = Order.objects.create(customer="Ada").pk
    chains = [client().start(pay.bind(order=order, fail_after=True)), client().start(pay_async.bind(order=order)),
              client().start(remember_async.bind(text="async"))]
print(*(chain.id for chain in chains), flaky.enqueue(2).id)
"""
READ = """
from shop.models import Note, Order
from shop.tasks import flaky
texts = sorted(note.text for note in Note.objects.all())
print(Order.objects.get().state, texts, flaky.get_result("{task}").return_value)
"""


@pytest.mark.parametrize("make", SELECTED)
def test_a_worker_runs_the_jobs_and_tasks_of_the_project(make: Callable[[Path], Project], tmp_path: Path) -> None:
    project = make(tmp_path)
    project.manage("migrate", "-v", "0")
    pay, pay_async, remember_async, task = project.run(START_PAY).split()

    with SyncClient(project.address) as client, running(project, "worker", "--concurrency", "4"):
        assert client.wait(pay, timeout=200) == "paid"
        assert isinstance(client.wait(remember_async, timeout=200), int)
        assert client.wait(task, timeout=200) == [2, task]
        with pytest.raises(Exception, match="models cannot be used inside prepare"):
            client.wait(pay_async, timeout=200)
        (receipt,) = client.list_chains(type="remember").items
        client.wait(receipt, timeout=200)

    texts = ["async", "paid once 1", "receipt 1", "receipt 1 committed"]
    assert project.run(READ.format(task=task)).strip() == f"paid {texts} [2, '{task}']"
    assert "completed" in project.manage("holdfast", "list", "--json")
    project.manage("holdfast", "explain", "unknown", code=3)
    refused = project.manage("holdfast", "list", "--nonsense", code=2)
    assert "No such option: --nonsense" in refused
    assert "Traceback" not in refused
    assert "called 3" in project.run(CALL_WITHOUT_CLICK)


CALL_WITHOUT_CLICK = """
import sys
from django.core.management import CommandError, call_command
sys.modules["click"] = None
call_command("holdfast", "status")
try:
    call_command("holdfast", "explain", "unknown")
except CommandError as error:
    print("called", error.returncode)
"""
"""Typer does not depend on click, so a project may not have it."""


DASHBOARD = """
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.test import Client
from holdfast.contrib.django import client
from shop.holdfast_jobs import remember
settings.ALLOWED_HOSTS = ["testserver"]
chain = client().start(remember.bind(text="x"), delay=3600).id
browser, user = Client(), User.objects.create_user("ops", is_staff=True)
def permit(name):
    user.user_permissions.add(Permission.objects.get(codename=name))
def cancel(**headers):
    form = "application/x-www-form-urlencoded"
    return browser.post("/ops/jobs/change/cancel", f"id={chain}", content_type=form, headers=headers).status_code
assert browser.get("/ops/jobs/").headers["Location"] == "/admin/login/?next=/ops/jobs/"
browser.force_login(user)
assert browser.get("/ops/jobs/").status_code == 403
permit("view_job")
page = browser.get(f"/ops/jobs/chains/{chain}")
text = page.content.decode()
assert page.status_code == 200 and chain in text and 'href="/ops/jobs/' in text and "/live" not in text
assert browser.get("/ops/jobs/live").status_code == 403
assert cancel(**{"sec-fetch-site": "same-origin"}) == 403 and client().get(chain).status == "pending"
permit("operate_job")
assert cancel(**{"sec-fetch-site": "cross-site"}) == 403 and client().get(chain).status == "pending"
assert cancel(**{"sec-fetch-site": "same-origin"}) == 303, "changed"
assert client().get(chain).status == "cancelled"
assert client().audit()[0].user == "ops"
print("passed")
"""


@pytest.mark.parametrize("make", SELECTED)
def test_the_dashboard_is_behind_the_login_of_the_admin(make: Callable[[Path], Project], tmp_path: Path) -> None:
    project = make(tmp_path)
    project.manage("migrate", "-v", "0")

    assert "passed" in project.run(DASHBOARD)
