"""The tests of Django's own tasks (`tests/tasks` of its source distribution), with HoldfastBackend as the backend.

pip downloads the source distribution; nothing of it is copied into the project. The package django-tasks contains no
tests in its source distributions (0.0 to 0.12). It has the same API, so on Django 5.2 the tests of Django run against
it, with the names of the package.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import django
import pytest

from tests.contrib.django.projects import Project
from tests.contrib.django.selection import BOTH

UPSTREAM = Path(__file__).parent / "upstream"
OLDEST_WITH_TESTS = "6.1.3"
"""The version whose tests run on Django 5.2, which has none for tasks."""
BUILT_IN = find_spec("django.tasks") is not None

ADAPTED = {
    # Their results are rows, so these tests need a database.
    r"\bSimpleTestCase\b": "TransactionTestCase",
    r"django\.tasks\.backends\.(?:dummy|immediate)(?=\.|\s+import)": "adapted_backends",
}
WITH_PACKAGE = {
    r"\bdjango\.tasks\b": "django_tasks",
    r"\bInvalidTask\b": "InvalidTaskError",
    r"\bInvalidTaskBackend\b": "InvalidTaskBackendError",
    r"async Tasks\.": "async tasks.",
    r"from django_tasks import Task, ": "from django_tasks.base import Task\nfrom django_tasks import ",
}


@pytest.fixture(scope="session")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked source distribution of the Django in use. Set HOLDFAST_SOURCES to a folder to keep downloads."""
    version = django.get_version() if BUILT_IN else OLDEST_WITH_TESTS
    folder = Path(os.environ.get("HOLDFAST_SOURCES") or tmp_path_factory.mktemp("sources"))
    archive = folder / f"django-{version}.tar.gz"
    if not archive.exists():
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "--python-version",
             "3.12", "--ignore-requires-python", "--dest", str(folder), f"Django=={version}"],
            check=True,
        )  # fmt: skip
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path_factory.mktemp("unpacked"), filter="data")
    return tmp_path_factory.getbasetemp() / "unpacked0" / f"django-{version}"


@pytest.mark.parametrize("make", BOTH)
def test_the_tests_of_django_pass(make: Callable[[Path], Project], distribution: Path, tmp_path: Path) -> None:
    project = make(tmp_path)
    adapted = tmp_path / "tasks"
    adapted.mkdir()
    for source in (distribution / "tests" / "tasks").glob("*.py"):
        adapted.joinpath(source.name).write_text(_adapted(source.read_text()))

    done = subprocess.run(
        [sys.executable, "-m", "django", "test", "--settings", "upstream_settings", "tasks"],
        cwd=tmp_path,
        env={**project.environment, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(UPSTREAM)])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert int(re.findall(r"Ran (\d+) tests", done.stdout)[0]) >= 65, done.stdout


def _adapted(text: str) -> str:
    for pattern, replacement in {**ADAPTED, **({} if BUILT_IN else WITH_PACKAGE)}.items():
        text = re.sub(pattern, replacement, text)
    return text
