"""The guides for moving from other libraries: their parts, and the one whose snippets need a process of their own."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.project.snippets import ROOT, snippets

GUIDES = sorted((ROOT / "docs/moving").glob("*.md"))
PARTS = ("## Terms", "## Code", "## Side by side", "## Gained and lost", "Gained:", "Lost:")


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_the_guide_has_a_table_of_terms_a_diff_and_the_parts_that_readers_look_for(guide: Path) -> None:
    text = guide.read_text(encoding="utf-8")

    assert all(f"\n{part}" in text for part in PARTS)
    assert "| Holdfast |" in text
    assert {"diff", "python"} <= {snippet.language for snippet in snippets(guide)}


# The page is about Django 5.2: newer versions have tasks of their own.
if find_spec("django.tasks") is None:

    def test_the_project_of_the_guide_for_django_tasks_db_runs(tmp_path: Path) -> None:
        for snippet in snippets(ROOT / "docs/moving/django-tasks-db.md"):
            if snippet.file is not None:
                path = tmp_path / snippet.file
                path.parent.mkdir(exist_ok=True)
                path.write_text(snippet.text)
        (tmp_path / "shop/__init__.py").touch()

        for command in (["-m", "django", "migrate", "-v0"], ["place_order.py"]):
            done = subprocess.run(
                [sys.executable, *command], cwd=tmp_path, env={"DJANGO_SETTINGS_MODULE": "settings"},
                capture_output=True, text=True, timeout=240, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
