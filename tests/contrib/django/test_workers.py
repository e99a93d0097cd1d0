"""Workers of a Django project: processes that run jobs of its database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast import SyncClient
from tests.contrib.django.projects import PROJECT, Project, postgres_project, sqlite_project
from tests.servers.postgres import running_postgres

pytestmark = pytest.mark.skipif(
    not os.environ.get("HOLDFAST_DJANGO"), reason="`make django` runs these: each starts many processes"
)


@contextmanager
def running(project: Project, *arguments: str, **environment: str) -> Generator[subprocess.Popen[str]]:
    """A command that runs until the end of the block."""
    process = project.begin("holdfast", *arguments, **environment)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
        sys.stdout.write(output)


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


@pytest.mark.parametrize("make", [sqlite_project, pytest.param(postgres_project, marks=pytest.mark.postgres)])
def test_a_worker_runs_the_jobs_and_tasks_of_the_project(make: Callable[[Path], Project], tmp_path: Path) -> None:
    project = make(tmp_path)
    project.manage("migrate", "-v", "0")
    pay, pay_async, remember_async, task = project.run(START_PAY).split()

    with SyncClient(project.address) as client, running(project, "worker", "--concurrency", "4"):
        assert client.wait(pay, timeout=60) == "paid"
        assert isinstance(client.wait(remember_async, timeout=60), int)
        assert client.wait(task, timeout=60) == [2, task]
        with pytest.raises(Exception, match="models cannot be used inside prepare"):
            client.wait(pay_async, timeout=60)
        (receipt,) = client.list_chains(type="remember").items
        client.wait(receipt, timeout=60)

    texts = ["async", "paid once 1", "receipt 1", "receipt 1 committed"]
    assert project.run(READ.format(task=task)).strip() == f"paid {texts} [2, '{task}']"
    assert "completed" in project.manage("holdfast", "list", "--json")
    project.manage("holdfast", "explain", "unknown", code=3)


@pytest.mark.postgres
def test_a_restart_of_the_database_costs_one_attempt(tmp_path: Path) -> None:
    with running_postgres() as server:
        project = postgres_project(tmp_path, server)
        project.manage("migrate", "-v", "0")
        go_on = tmp_path / "go-on"
        start = (
            "from holdfast.contrib.django import client; from shop.holdfast_jobs import wait_for_file;"
            f"print(client().start(wait_for_file.bind(path={str(go_on)!r})).id)"
        )
        chain = project.run(start).strip()

        with running(project, "worker", "--concurrency", "1", "--lease", "60s"):
            with SyncClient(project.address) as client:
                while not Path(f"{go_on}.begun").exists():
                    client.get(chain)
            server.restart()
            go_on.touch()
            with SyncClient(project.address) as client:
                assert client.wait(chain, timeout=60) == "0 0"
                report = client.report(chain)

    assert report is not None
    assert [(each.number, each.outcome) for each in report.attempts] == [(1, "failed"), (2, "completed")]


START_SLOW = """
from holdfast.contrib.django import client
from shop.holdfast_jobs import count_in_process, wait_for_file
print(client().start(wait_for_file.bind(path={path!r})).id, client().start(count_in_process.bind(more=7)).id)
"""


def begun(go_on: Path, client: SyncClient, chain: str) -> None:
    """Wait until the handler has begun. Each read takes a moment."""
    while not Path(f"{go_on}.begun").exists():
        client.get(chain)


def test_a_worker_reloads_under_debug_and_drains_first(tmp_path: Path) -> None:
    project = sqlite_project(tmp_path)
    project.manage("migrate", "-v", "0")
    go_on, module = tmp_path / "go-on", tmp_path / "extra_module.py"
    module.write_text("VALUE = 1\n")
    slow, counted = project.run(START_SLOW.format(path=str(go_on))).split()
    watched = {"SHOP_DEBUG": "1", "SHOP_IMPORT": "extra_module", "PYTHONPATH": f"{PROJECT}:{tmp_path}"}

    with SyncClient(project.address) as client, running(project, "worker", **watched) as worker:
        assert client.wait(counted, timeout=60) == 7
        begun(go_on, client, slow)
        first = {each.id for each in client.workers()}
        module.write_text("VALUE = 22\n")
        go_on.touch()
        assert client.wait(slow, timeout=60) == "0 0"
        while not ({each.id for each in client.workers()} - first):
            assert worker.poll() is None
        report = client.report(slow)

    assert report is not None
    assert [each.outcome for each in report.attempts] == ["completed"]  # drained, not released


def test_supervised_processes_run_the_jobs_of_the_project(tmp_path: Path) -> None:
    project = sqlite_project(tmp_path)
    project.manage("migrate", "-v", "0")
    go_on = tmp_path / "go-on"
    go_on.touch()
    slow, counted = project.run(START_SLOW.format(path=str(go_on))).split()

    with SyncClient(project.address) as client, running(project, "supervise"):
        assert client.wait(slow, timeout=90) == "0 0"
        assert client.wait(counted, timeout=90) == 7


def test_runserver_runs_an_inline_worker(tmp_path: Path) -> None:
    project = sqlite_project(tmp_path)
    project.environment["SHOP_HOLDFAST"] = '{"DATABASE": "default", "INLINE_WORKER": true}'
    project.manage("migrate", "-v", "0")
    go_on = tmp_path / "go-on"
    slow, _ = project.run(START_SLOW.format(path=str(go_on))).split()

    server = project.begin("runserver", "--noreload", "127.0.0.1:0", SHOP_DEBUG="1")
    try:
        with SyncClient(project.address) as client:
            begun(go_on, client, slow)
            server.send_signal(signal.SIGINT)
            go_on.touch()
            assert client.wait(slow, timeout=60) == "0 0"
            report = client.report(slow)
    finally:
        server.send_signal(signal.SIGINT)
        output, _ = server.communicate(timeout=60)
        sys.stdout.write(output)

    assert report is not None
    assert [each.outcome for each in report.attempts] == ["completed"]


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


@pytest.mark.parametrize("make", [sqlite_project, pytest.param(postgres_project, marks=pytest.mark.postgres)])
def test_the_dashboard_is_behind_the_login_of_the_admin(make: Callable[[Path], Project], tmp_path: Path) -> None:
    project = make(tmp_path)
    project.manage("migrate", "-v", "0")

    assert "passed" in project.run(DASHBOARD)
