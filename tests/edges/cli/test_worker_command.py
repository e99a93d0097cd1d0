"""`holdfast worker` as a process: what it logs, and how it ends."""

import json
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

from holdfast import SyncClient
from tests.edges.cli.conftest import CommandLine
from tests.edges.cli.shop import add, burst

ROOT = __file__.rsplit("/tests/", 1)[0]


@contextmanager
def process(*options: str) -> Generator[subprocess.Popen[str]]:
    """A worker process, told to stop when the body ends."""
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


def test_a_worker_runs_jobs_and_ends_well_when_told_to(client: SyncClient) -> None:
    forged = "oops\nforged line\x1b[2J"
    with process("--concurrency", "2", "--log-level", "debug") as worker:
        assert client.wait(client.start(add.bind(a=1)), timeout=20) == 3
        chain = client.start(burst.bind(reason=forged))
        assert client.wait(client.start(add.bind(a=2), after=[]), timeout=20) == 4
        while not (report := client.report(chain.id)) or not report.job.status.finished:
            client.wait(client.start(add.bind(a=3)), timeout=20)
        worker.send_signal(signal.SIGTERM)
        out, log = worker.communicate(timeout=20)

    assert worker.returncode == 0
    assert out == ""
    assert "worker_started" in log
    assert "worker_stopped" in log
    assert "retrying" in log
    assert not any(line.startswith("forged") for line in log.splitlines())
    assert "\x1b" not in log


def test_a_worker_logs_a_json_object_a_line_when_asked_to(client: SyncClient) -> None:
    with process("--log-json", "--worker-id", "me") as worker:
        client.wait(client.start(add.bind(a=1)), timeout=20)
        worker.send_signal(signal.SIGTERM)
        _, log = worker.communicate(timeout=20)

    events = [json.loads(line) for line in log.splitlines()]
    completed = next(event for event in events if event.get("event") == "completed")
    assert (completed["type"], completed["worker"], completed["level"]) == ("add", "me", "info")


def test_a_worker_that_cannot_begin_says_why(holdfast: CommandLine) -> None:
    assert "unknown job type 'nope'" in holdfast("worker", "--types", "add,nope", exit=2).err
    assert "--lease must be more than 0" in holdfast("worker", "--lease", "0", exit=2).err
    assert "no duration" in holdfast("worker", "--grace", "x", exit=2).err
    assert "there is no module" in holdfast("worker", "--app", "nowhere", exit=2).err
