"""`holdfast worker` as a process: what it logs, and how it ends."""

import json
import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast import Client, Retry, SyncClient
from holdfast.cli.logs import JsonFormatter
from tests.edges.cli.conftest import CommandLine
from tests.edges.cli.shop import add, burst

ROOT = __file__.rsplit("/tests/", 1)[0]


@contextmanager
def process(*options: str) -> Generator[subprocess.Popen[str]]:
    """A worker process that is killed when the body ends."""
    command = [sys.executable, "-m", "holdfast.cli", "worker", *options]
    worker = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield worker
    finally:
        if worker.poll() is None:
            worker.kill()
        worker.communicate()


def test_a_worker_runs_jobs_and_ends_cleanly_after_sigterm(client: SyncClient) -> None:
    forged = "oops\nforged line\x1b[2J"
    with process("--concurrency", "2", "--log-level", "debug") as worker:
        assert client.wait(client.start(add.bind(a=1)), timeout=60) == 3
        chain = client.start(burst.bind(reason=forged))
        assert client.wait(client.start(add.bind(a=2), after=[]), timeout=60) == 4
        while not (report := client.report(chain.id)) or not report.job.status.finished:
            client.wait(client.start(add.bind(a=3)), timeout=60)
        worker.send_signal(signal.SIGTERM)
        out, log = worker.communicate(timeout=60)

    assert worker.returncode == 0
    assert out == ""
    assert "worker_started" in log
    assert "worker_stopped" in log
    assert "retrying" in log
    assert not any(line.startswith("forged") for line in log.splitlines())
    assert "\x1b" not in log


def test_a_worker_takes_the_application_as_an_argument(client: SyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLDFAST_APP", raising=False)

    with process("tests.edges.cli.shop:jobs") as worker:
        assert client.wait(client.start(add.bind(a=1)), timeout=60) == 3
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=60)

    assert worker.returncode == 0


def test_a_worker_logs_one_json_object_per_line(client: SyncClient) -> None:
    with process("--log-json", "--worker-id", "me") as worker:
        client.wait(client.start(add.bind(a=1)), timeout=60)
        worker.send_signal(signal.SIGTERM)
        _, log = worker.communicate(timeout=60)

    events = [json.loads(line) for line in log.splitlines()]
    completed = next(event for event in events if event.get("event") == "completed")
    assert (completed["type"], completed["worker"], completed["level"]) == ("add", "me", "info")


def test_a_worker_that_cannot_begin_says_why(holdfast: CommandLine) -> None:
    assert "unknown job type 'nope'" in holdfast("worker", "--types", "add,nope", exit=2).err
    assert "--lease must be more than 0" in holdfast("worker", "--lease", "0", exit=2).err
    assert "shorter than the lease" in holdfast("worker", "--lease", "5s", "--renew-interval", "5s", exit=2).err
    assert "no duration" in holdfast("worker", "--grace", "x", exit=2).err
    assert "there is no module" in holdfast("worker", "--app", "nowhere", exit=2).err


FILE = """
[workers]
concurrency = 3
lease_timeout_seconds = 7
renew_interval_seconds = 2
mismatch_timeout_seconds = 120
grace_seconds = 5
poll_interval_ms = 500
timeout_seconds = 9
retry = "patient"
[workers.cpu]
types = ["twice", "total"]
concurrency = 1
[retry.patient]
max_attempts = 2
[logging]
level = "warning"
format = "json"
"""


class WorkerCreated(Exception):
    """A worker was created."""

    def __init__(self, client: Client, **given: Any) -> None:
        self.given = given


CreateWorker = Callable[..., dict[str, Any]]


@pytest.fixture
def passed_by(holdfast: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CreateWorker:
    """The arguments that the command `worker` with these options passes to `Worker`."""

    def refuse(client: Client, **given: Any) -> None:
        raise WorkerCreated(client, **given)

    def create(*options: str) -> dict[str, Any]:
        with pytest.raises(WorkerCreated) as raised:
            holdfast("worker", *options)
        return raised.value.given

    (tmp_path / "holdfast.toml").write_text(FILE)
    monkeypatch.setattr("holdfast.cli.worker.Worker", refuse)
    return create


def test_a_worker_has_the_settings_of_the_file_like_a_supervised_one(passed_by: CreateWorker) -> None:
    given = passed_by()

    assert (given["concurrency"], given["lease"], given["grace"], given["timeout"]) == (3, 7, 5, 9)
    assert (given["poll_without_wakeups"], given["poll_interval"]) == (0.5, 60)
    assert (given["renew_interval"], given["mismatch_timeout"]) == (2, 120)
    assert given["retry"] == Retry(max_attempts=2)
    assert set(given["types"]) == {"add", "burst", "compare", "refuse", "rest", "forget", "login", "ship", "sign"}
    assert logging.getLogger().level == logging.WARNING
    assert isinstance(logging.getLogger().handlers[0].formatter, JsonFormatter)


def test_a_worker_has_the_settings_of_the_group_that_is_named(holdfast: CommandLine, passed_by: CreateWorker) -> None:
    given = passed_by("--group", "cpu")

    assert (given["concurrency"], given["lease"], given["types"]) == (1, 7, ("twice", "total"))
    assert "there are: default, cpu" in holdfast("worker", "--group", "gpu", exit=2).err


def test_a_worker_s_options_come_before_the_file(passed_by: CreateWorker) -> None:
    options = ["--concurrency", "4", "--lease", "8s", "--grace", "0", "--types", "total", "--log-level", "debug"]
    given = passed_by(*options)

    assert (given["concurrency"], given["lease"], given["grace"], given["types"]) == (4, 8, 0, ["total"])
    assert logging.getLogger().level == logging.DEBUG


def test_the_file_s_renewal_interval_belongs_to_the_file_s_lease(
    holdfast: CommandLine, passed_by: CreateWorker
) -> None:
    assert passed_by("--lease", "8s")["renew_interval"] is None
    assert passed_by("--renew-interval", "1s")["renew_interval"] == 1
    assert passed_by("--lease", "8s", "--renew-interval", "4s")["renew_interval"] == 4


def test_a_worker_s_defaults_are_those_that_config_shows(
    holdfast: CommandLine, passed_by: CreateWorker, tmp_path: Path
) -> None:
    (tmp_path / "holdfast.toml").unlink()
    shown = holdfast.json("config")["workers"]

    given = passed_by()

    assert (given["lease"], given["grace"], given["concurrency"], given["poll_without_wakeups"] * 1000) == (
        shown["lease_timeout_seconds"], shown["grace_seconds"], shown["concurrency"], shown["poll_interval_ms"],
    )  # fmt: skip
    assert given["mismatch_timeout"] == shown["mismatch_timeout_seconds"] == 3600
    assert given["renew_interval"] is None


def test_a_worker_reports_the_line_of_an_unknown_type_of_a_group(
    holdfast: CommandLine, passed_by: CreateWorker, tmp_path: Path
) -> None:
    (tmp_path / "holdfast.toml").write_text('[workers.cpu]\ntypes = ["missing"]\n')

    assert "line 2, workers.cpu.types" in holdfast("worker", exit=2).err
