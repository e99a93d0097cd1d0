"""The guides' Python snippets run, page by page, in an empty folder."""

import inspect
import re
from pathlib import Path

import pytest
from sqlalchemy import Engine

from holdfast.cli.exit_codes import MEANINGS
from holdfast.contrib.flask import Holdfast
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

PARTS_OF_A_FAILURE = ["You see", "Holdfast", "You", "Tests"]


@pytest.mark.parametrize("guide", GUIDES)
def test_the_page_s_snippets_run(guide: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    names = run_page(ROOT / "docs" / f"{guide}.md")

    for name, test in names.items():
        if name.startswith("test_") and inspect.isfunction(test) and not inspect.signature(test).parameters:
            test()
    # A program that ends need not close its connections.
    for value in names.values():
        if isinstance(value, Engine):
            value.dispose()
        elif isinstance(value, Holdfast):
            value.close()


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


def test_every_failure_says_what_happens_and_names_existing_tests() -> None:
    _, *failures = (ROOT / "docs/what-can-go-wrong.md").read_text(encoding="utf-8").split("\n## ")
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))

    assert len(failures) > 10
    for failure in failures:
        assert re.findall(r"^- \*\*([\w ]+?):?\*\*", failure, re.MULTILINE) == PARTS_OF_A_FAILURE, failure
        named = re.findall(r"`(test_\w+)`", failure.partition("**Tests:**")[2])
        assert named, failure
        assert [name for name in named if f"def {name}(" not in tests] == []


def test_the_site_contains_every_page() -> None:
    """Sphinx warns about a page that is in no table of contents, and a warning ends the build of the site."""
    listed = set(re.findall(r"^(?:.*<)?([\w/*-]+)>?$", (ROOT / "tools/site/index.md").read_text(), re.MULTILINE))
    pages = {str(page.relative_to(ROOT).with_suffix("")) for page in (ROOT / "docs").rglob("*.md")}

    assert {page for page in pages if page not in listed and not page.startswith("docs/decisions/0")} == set()


def test_every_cell_of_the_comparison_has_a_source_and_a_date() -> None:
    text = (ROOT / "docs/choosing.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    head, _, *answers, dates = rows
    sources = set(re.findall(r"^\[([\w-]+)\]: https://", text, re.MULTILINE))

    assert (len(head), dates[0]) == (11, "read on")
    assert all(re.fullmatch(r"\d+ \w{3} 20\d\d", date) for date in dates[1:])
    for question, own, *others in answers:
        assert "](" in own, question
        assert {cell for cell in others if (found := re.search(r"\]\[([\w-]+)\]$", cell)) is None
                or found[1] not in sources} == set(), question  # fmt: skip
