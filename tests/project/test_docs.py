"""The guides' Python snippets run, page by page, in an empty folder."""

import inspect
import re
from pathlib import Path

import pytest

from holdfast.cli.exit_codes import MEANINGS
from tests.edges.cli.test_help import WANTED
from tests.project.snippets import ROOT, run_page, snippets

GUIDES = (
    "quickstart", "transactions", "chains-and-blockers", "workers", "operating", "observability", "testing", "cli",
    "stores", "supervisor", "flow-control", "wakeups", "schedules", "plugins", "plugins/logging", "plugins/otel",
    "plugins/prometheus", "plugins/sentry", "plugins/structlog", "fastapi", "flask", "sqlalchemy", "moving/celery",
    "moving/rq", "moving/dramatiq", "moving/procrastinate", "dashboard",
    "steps", "sharding", "security", "cookbook/outbox", "cookbook/saga", "cookbook/approval", "cookbook/webhook",
    "cookbook/batch-import", "cookbook/tenants", "cookbook/agent", "cookbook/cron",
)  # fmt: skip


@pytest.mark.parametrize("guide", GUIDES)
def test_the_page_s_snippets_run(guide: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    names = run_page(ROOT / "docs" / f"{guide}.md")

    for name, test in names.items():
        if name.startswith("test_") and inspect.isfunction(test) and not inspect.signature(test).parameters:
            test()


def test_the_front_page_lists_every_guide() -> None:
    front = (ROOT / "docs/README.md").read_text()
    recipes = (ROOT / "docs/cookbook/README.md").read_text()

    assert all(f"({guide}.md)" in front for guide in GUIDES if not guide.startswith("cookbook/"))
    assert all(
        f"({guide.removeprefix('cookbook/')}.md)" in recipes for guide in GUIDES if guide.startswith("cookbook/")
    )


def test_every_command_and_exit_code_is_documented() -> None:
    text = (ROOT / "docs/cli.md").read_text()

    for command in WANTED:
        assert f"`{command}" in text, command
    for code, meaning in MEANINGS.items():
        assert f"| {int(code)} | {meaning}" in text


def test_no_snippet_is_left_without_a_language() -> None:
    for page in [
        ROOT / "README.md",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs/plugins").glob("*.md"),
        *(ROOT / "docs/moving").glob("*.md"),
        *(ROOT / "docs/cookbook").glob("*.md"),
    ]:
        assert all(snippet.language for snippet in snippets(page)), page


def test_the_tests_that_a_page_names_exist() -> None:
    """The page names a test for each failure that it describes."""
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs/what-can-go-wrong.md").read_text(encoding="utf-8")))
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))

    assert len(named) > 10
    assert {name for name in named if f"def {name}(" not in tests} == set()
