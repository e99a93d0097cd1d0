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


def manage(folder: Path, *arguments: str, module: str = "django", **environment: str) -> str:
    """Run a command of the project in this folder, with its files on the import path."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", module, *arguments],
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
    manage(tmp_path, "startproject", "mysite", ".", DJANGO_SETTINGS_MODULE="")
    manage(tmp_path, "startapp", "shop", DJANGO_SETTINGS_MODULE="mysite.settings")
    for snippet in snippets(ROOT / "docs" / "django.md"):
        if snippet.file is not None:
            path = tmp_path / snippet.file
            adds = path.name == "settings.py"
            path.write_text(path.read_text() + snippet.text if adds else snippet.text)
    if sys.version_info < (3, 12):
        with (tmp_path / "mysite" / "settings.py").open("a") as settings:
            settings.write('INSTALLED_APPS += ["django_tasks"]\n')

    def run(*arguments: str, module: str = "django") -> str:
        return manage(tmp_path, *arguments, module=module, DJANGO_SETTINGS_MODULE="mysite.settings")

    run("makemigrations", "-v", "0", "shop")
    assert "OK" in run("test", "shop")
    assert "1 passed" in run("-p", "no:valkey", "-p", "no:xdist", "-p", "no:asyncio", module="pytest")
    run("migrate", "-v", "0")
    run("shell", "-c", "from shop.orders import place; place('Ada')")
    assert '"ship"' in run("holdfast", "list", "--json")
