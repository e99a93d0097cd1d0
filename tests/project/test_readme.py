"""The README's quickstart does what it says, step by step, in an empty folder."""

import re
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from tests.project.shell import Shell
from tests.project.snippets import ROOT, Snippet, snippets
from tests.servers.postgres import shared_postgres

README = ROOT / "README.md"


def test_the_quickstart_runs_as_it_stands(shell: Shell, tmp_path: Path) -> None:
    assert_runs(shell, tmp_path, str)


def test_on_postgresql_only_that_changes_which_the_page_names(shell: Shell, tmp_path: Path) -> None:
    changes = re.findall(r"`([^`\n]+)`\s+instead of `([^`\n]+)`", README.read_text(encoding="utf-8"))
    database = f"shop{uuid4().hex[:12]}"
    with shared_postgres().connect() as connection:
        connection.execute(f"create database {database}".encode())
    address = shared_postgres().address(database=database)

    def on_postgres(text: str) -> str:
        for theirs, ours in changes:
            text = text.replace(ours, theirs)
        return text.replace("postgresql://...", address).replace("sqlite:///shop.db", address)

    assert len(changes) == 4
    shell.run(f"holdfast migrate --store {address}")
    assert_runs(shell, tmp_path, on_postgres)


def assert_runs(shell: Shell, folder: Path, change: Callable[[str], str]) -> None:
    answers: list[str] = []
    for snippet in quickstart():
        if snippet.language == "python":
            assert snippet.file is not None
            (folder / snippet.file).write_text(change(snippet.text))
        else:
            answers += [shell.run(change(line)) for line in snippet.text.splitlines()]

    _, _, finished, status, _ = answers
    assert finished == "parcel 1\n['parcel 1', 'parcel 2']\n"
    assert "0 due now" in " ".join(status.split())  # an address may be long, and lines are wrapped
    shell.run("python place_orders.py")


def test_every_link_leads_somewhere() -> None:
    for page in [README, *ROOT.glob("docs/**/*.md"), ROOT / "examples/README.md"]:
        text = page.read_text(encoding="utf-8")
        for target in _links(text):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"


def test_the_two_commands_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text()

    assert "make demo" in README.read_text()
    assert all(f"\n{target}:" in makefile for target in ("demo", "test"))


def quickstart() -> list[Snippet]:
    text = README.read_text(encoding="utf-8")
    begin = text[: text.index("## Quickstart")].count("\n")
    return [snippet for snippet in snippets(README) if snippet.line > begin]


def _links(text: str) -> list[str]:
    found = re.findall(r"\]\(([^)\s]+)\)", text)
    return [target.split("#")[0] for target in found if "://" not in target and not target.startswith("#")]
