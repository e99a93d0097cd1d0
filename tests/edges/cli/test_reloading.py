"""`holdfast worker --reload`: a change of a module restarts the worker after its running jobs."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast import Jobs, SyncClient
from holdfast.cli.reloading import SourceWatch, source_files

TIMEOUT = 60.0

APP = """
import os, time
from pathlib import Path
from holdfast import Jobs

jobs = Jobs()

@jobs.job
def version(path: str) -> str:
    return "{text}"

@jobs.job
def hold(begun: str, gate: str) -> str:
    Path(begun).touch()
    while not Path(gate).exists():
        time.sleep(0.01)
    return "{text}"
"""

declared = Jobs()


@declared.declare
def version(path: str) -> str:
    raise NotImplementedError


@declared.declare
def hold(begun: str, gate: str) -> str:
    raise NotImplementedError


class Process:
    """A worker process in a folder, with its log lines."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "holdfast.cli", "worker", "app:jobs", "--store", "sqlite:///jobs.db", *options]
        self.child = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def until(self, text: str) -> str:
        """Wait for a log line that contains this text."""
        while True:
            line = self._lines.get(timeout=TIMEOUT)
            if text in line:
                return line

    def end(self) -> int:
        self.child.send_signal(signal.SIGTERM)
        code = self.child.wait(TIMEOUT)
        self._reader.join()
        return code

    def _read(self) -> None:
        assert self.child.stderr is not None
        with self.child.stderr as log:
            for line in log:
                self._lines.put(line)


@contextmanager
def reloading(folder: Path) -> Generator[Process]:
    process = Process(folder, "--reload")
    try:
        yield process
    finally:
        if process.child.poll() is None:
            process.child.kill()
            process.child.wait(TIMEOUT)


def write(folder: Path, text: str) -> None:
    (folder / "app.py").write_text(APP.replace("{text}", text))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "first")
    return tmp_path


@pytest.fixture
def client(folder: Path) -> Generator[SyncClient]:
    with SyncClient(f"sqlite:///{folder / 'jobs.db'}", declared, migrate=True) as client:
        yield client


def test_a_worker_runs_the_new_code_in_the_same_process(folder: Path, client: SyncClient) -> None:
    with reloading(folder) as process:
        assert client.run(version.bind(""), timeout=TIMEOUT) == "first"

        write(folder, "the second")
        process.until("app.py changed")
        process.until("worker_stopped")
        process.until("worker_started")

        assert client.run(version.bind(""), timeout=TIMEOUT) == "the second"
        assert process.end() == 0


def test_a_running_job_ends_before_the_restart(folder: Path, client: SyncClient) -> None:
    begun, gate = folder / "begun", folder / "gate"
    with reloading(folder) as process:
        chain = client.start(hold.bind(str(begun), str(gate)))
        process.until("worker_started")
        while not begun.exists():
            client.get(chain)

        write(folder, "the second")
        process.until("worker_stopping")
        gate.touch()

        assert client.wait(chain, timeout=TIMEOUT) == "first"
        process.until("worker_started")
        found = client.get(chain)
        assert found is not None
        assert found.job.attempt == 1
        assert process.end() == 0


def test_a_worker_waits_for_the_repair_of_a_module_that_cannot_be_imported(folder: Path, client: SyncClient) -> None:
    with reloading(folder) as process:
        process.until("worker_started")
        (folder / "app.py").write_text("this is no Python")
        process.until("waiting for a change")

        write(folder, "the repaired")

        assert client.run(version.bind(""), timeout=TIMEOUT) == "the repaired"
        assert process.end() == 0


def test_a_signal_while_it_drains_ends_the_worker(folder: Path, client: SyncClient) -> None:
    begun, gate = folder / "begun", folder / "gate"
    with reloading(folder) as process:
        client.start(hold.bind(str(begun), str(gate)))
        process.until("worker_started")
        while not begun.exists():
            client.stats()
        write(folder, "the second")
        process.until("worker_stopping")

        process.child.send_signal(signal.SIGTERM)
        gate.touch()

        assert process.child.wait(TIMEOUT) == 0


def test_only_modules_of_the_application_are_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "watched_app.py").write_text("value = 1\n")
    monkeypatch.setattr("sys.path", [str(tmp_path), *sys.path])
    watch = SourceWatch()
    __import__("watched_app")
    file = str(tmp_path / "watched_app.py")

    assert watch.find_changes() == []
    assert file in source_files()
    assert __file__ in source_files()
    assert not [each for each in source_files() if "site-packages" in each or f"src{os.sep}holdfast" in each]

    (tmp_path / "watched_app.py").write_text("value = 100\n")
    assert watch.find_changes() == [file]
    (tmp_path / "watched_app.py").unlink()
    assert watch.find_changes() == [file]
