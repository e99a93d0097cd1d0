"""The servers of the tests stop, if necessary by SIGKILL."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.servers import postgres
from tests.servers.postgres import Postgres
from tests.servers.until_exit import until_exit

STUBBORN = """
import os, signal, time
signal.signal(signal.SIGQUIT, signal.SIG_IGN)
child = os.fork()
if child:
    print(child, flush=True)
time.sleep(1000)
"""


def test_a_server_that_does_not_stop_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "START_SECONDS", 0.1)
    server = Postgres(tmp_path, tmp_path, 1, None)
    process = subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline()
    monkeypatch.setattr(server, "_process", process)

    server.stop()

    assert process.returncode == -9
    assert process.stdout.read() == ""  # nor is its child left, which could write to it
    assert server.pid is None
    process.stdout.close()


def test_a_forked_child_does_not_stop_the_servers_of_its_parent(tmp_path: Path) -> None:
    stopped = tmp_path / "stopped"

    @contextmanager
    def server() -> Generator[None]:
        try:
            yield
        finally:
            with suppress(FileNotFoundError):  # at the end of the tests
                stopped.touch()

    until_exit(server())
    child = multiprocessing.get_context("fork").Process(target=int)
    with warnings.catch_warnings():
        # Newer Python versions warn about forks with threads.
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    child.join()

    assert not stopped.exists()
