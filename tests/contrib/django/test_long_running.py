"""Processes of a Django project that a restart, a change or a signal interrupts. `make django` runs these."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from holdfast import SyncClient
from tests.contrib.django.projects import PROJECT, postgres_project, running, sqlite_project
from tests.servers.postgres import running_postgres

LIMIT = 200

START_WAITING = """
from holdfast.contrib.django import client
from shop.holdfast_jobs import wait_for_file
print(*(client().start(wait_for_file.bind(path=path)).id for path in {paths!r}))
"""


@pytest.mark.postgres
def test_a_restart_of_the_database_costs_one_attempt(tmp_path: Path) -> None:
    with running_postgres() as server:
        project = postgres_project(tmp_path, server)
        project.manage("migrate", "-v", "0")
        files = [tmp_path / name for name in ("interrupted", "one", "two", "three")]
        interrupted, *others = project.run(START_WAITING.format(paths=[*map(str, files)])).split()

        with running(project, "worker", "--concurrency", "4", "--lease", "300s"):
            with SyncClient(project.address) as client:
                for each in files:
                    begun(each, client, interrupted)
                for chain, each in zip(others, files[1:], strict=True):
                    each.touch()
                    client.wait(chain, timeout=LIMIT)
            # Now each thread has an open connection: those of the idle ones have had no error.
            server.restart()
            files[0].touch()
            with SyncClient(project.address) as client:
                assert client.wait(interrupted, timeout=LIMIT) == "0 0"
                assert attempts(client, interrupted) == ["failed", "completed"]
                later = project.run(START_WAITING.format(paths=[*map(str, files)])).split()
                assert [client.wait(chain, timeout=LIMIT) for chain in later] == ["0 0"] * 4
                assert [attempts(client, chain) for chain in later] == [["completed"]] * 4


def attempts(client: SyncClient, chain: str) -> list[str]:
    """The outcomes of the attempts."""
    report = client.report(chain)
    assert report is not None
    return [each.outcome for each in report.attempts]


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
        assert client.wait(counted, timeout=LIMIT) == 7
        begun(go_on, client, slow)
        first = {each.id for each in client.workers()}
        module.write_text("VALUE = 22\n")
        go_on.touch()
        assert client.wait(slow, timeout=LIMIT) == "0 0"
        while not ({each.id for each in client.workers()} - first):
            assert worker.poll() is None
        assert attempts(client, slow) == ["completed"]  # drained, not released


def test_supervised_processes_run_the_jobs_of_the_project(tmp_path: Path) -> None:
    project = sqlite_project(tmp_path)
    project.manage("migrate", "-v", "0")
    go_on = tmp_path / "go-on"
    go_on.touch()
    slow, counted = project.run(START_SLOW.format(path=str(go_on))).split()

    with SyncClient(project.address) as client, running(project, "supervise"):
        assert client.wait(slow, timeout=LIMIT) == "0 0"
        assert client.wait(counted, timeout=LIMIT) == 7


def test_runserver_runs_an_inline_worker(tmp_path: Path) -> None:
    project = sqlite_project(tmp_path)
    project.environment["SHOP_HOLDFAST"] = '{"DATABASE": "default", "INLINE_WORKER": true}'
    project.manage("migrate", "-v", "0")
    go_on = tmp_path / "go-on"
    slow, _ = project.run(START_SLOW.format(path=str(go_on))).split()

    server = project.begin("runserver", "--noreload", "127.0.0.1:0", SHOP_DEBUG="1", PYTHONUNBUFFERED="1")
    assert server.stdout is not None
    try:
        # While the server imports modules, Python may lose a SIGINT.
        assert any("Quit the server" in line for line in iter(server.stdout.readline, ""))
        with SyncClient(project.address) as client:
            begun(go_on, client, slow)
            server.send_signal(signal.SIGINT)
            go_on.touch()
            assert client.wait(slow, timeout=LIMIT) == "0 0"
            assert attempts(client, slow) == ["completed"]
    finally:
        server.send_signal(signal.SIGINT)
        output, _ = server.communicate(timeout=LIMIT)
        sys.stdout.write(output)
