"""The example shop and the guide: their projects run as they are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contrib.django.projects import Project, postgres_project, sqlite_project
from tests.project.snippets import ROOT, snippets

EXAMPLE = ROOT / "examples" / "django_shop"


def manage(folder: Path, *arguments: str, **environment: str) -> str:
    """Run a command of the project in this folder, with its files on the import path."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "django", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "DJANGO_SETTINGS_MODULE": "settings", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize("make", [sqlite_project, pytest.param(postgres_project, marks=pytest.mark.postgres)])
def test_the_tests_of_the_example_pass(make: Callable[[Path], Project], tmp_path: Path) -> None:
    database = make(tmp_path).environment["SHOP_DATABASE"]

    assert "OK" in manage(EXAMPLE, "test", "shop", SHOP_DATABASE=database)
    assert "No changes detected" in manage(EXAMPLE, "makemigrations", "--check", SHOP_DATABASE=database)


def test_the_project_of_the_guide_runs(tmp_path: Path) -> None:
    for snippet in snippets(ROOT / "docs" / "django.md"):
        if snippet.file is not None:
            path = tmp_path / snippet.file
            path.parent.mkdir(exist_ok=True)
            path.write_text(snippet.text)
    if sys.version_info < (3, 12):
        with (tmp_path / "settings.py").open("a") as settings:
            settings.write('INSTALLED_APPS.append("django_tasks")\n')
    (tmp_path / "shop" / "migrations").mkdir()
    for package in ("shop", "shop/migrations"):
        (tmp_path / package / "__init__.py").touch()

    manage(tmp_path, "makemigrations", "-v", "0", "shop")
    assert "OK" in manage(tmp_path, "test", "shop")
    manage(tmp_path, "migrate", "-v", "0")
    listed = manage(tmp_path, "holdfast", "list", "--json")
    assert "[]" in listed
