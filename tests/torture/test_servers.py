"""The servers of the tests stop, if necessary by SIGKILL."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import postgres
from tests.servers.postgres import Postgres

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
