"""A file or directory that the process may not use is NotPermitted; the error names the permission."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.engine.operations import Start
from holdfast.stores.sqlite import SqliteStore
from holdfast.testing.builders import new_job

ATTEMPT = """
import os, sys, tempfile
from holdfast import NotPermitted
from holdfast.engine.operations import Start
from holdfast.stores.sqlite import SqliteStore
from holdfast.testing.builders import new_job

def start(address):
    store = SqliteStore(address)
    store.open_sync()
    store.perform_sync(Start((new_job(),)))
    store.close_sync()

with tempfile.TemporaryDirectory() as folder:
    start(f"sqlite:///{folder}/jobs.db")  # loads every module while this process may still read them
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    start(sys.argv[1])
except NotPermitted as error:
    print(error.privilege)
"""


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """A store's file in a directory that every user may read."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    path = tmp_path / "jobs.db"
    store = SqliteStore(f"sqlite:///{path}")
    store.open_sync()
    store.perform_sync(Start((new_job(),)))
    store.close_sync()
    yield path
    tmp_path.chmod(0o755)


def attempt(path: Path) -> str:
    """The error of a process without root privileges when it starts a job."""
    command = [sys.executable, "-c", ATTEMPT, f"sqlite:///{path}"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=240)
    return ended.stdout + ended.stderr


@pytest.mark.parametrize(("mode", "folder"), [(0o444, 0o777), (0o000, 0o777), (0o666, 0o555)])
def test_a_missing_permission_is_named(path: Path, mode: int, folder: int) -> None:
    path.chmod(mode)
    path.parent.chmod(folder)

    assert attempt(path) == "permission to read and write the file, and to create files in its directory\n"


def test_a_file_that_cannot_be_created_is_not_permitted(tmp_path: Path, path: Path) -> None:
    path.parent.chmod(0o555)

    assert "create files in its directory" in attempt(tmp_path / "other.db")
