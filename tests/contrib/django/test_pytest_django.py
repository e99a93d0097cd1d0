"""The tests of a project that uses pytest-django."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contrib.django.projects import PROJECT, Project
from tests.contrib.django.selection import BOTH


@pytest.mark.parametrize("make", BOTH)
def test_drain_and_capture_jobs_work_with_pytest_django(make: Callable[[Path], Project], tmp_path: Path) -> None:
    project = make(tmp_path)
    # In the folder of this file, pytest would read the settings and the conftest.py of this suite.
    (tmp_path / "test_shop.py").write_text((PROJECT / "shop" / "pytest_cases.py").read_text())

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "-p", "no:valkey",
         "-p", "no:xdist", "-p", "no:asyncio", "--ds", "settings"],
        cwd=tmp_path, env=project.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=280, check=False,
    )  # fmt: skip

    assert "12 passed" in done.stdout, done.stdout
