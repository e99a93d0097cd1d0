"""Which commands import the application: those that start or run jobs, and others only where --app is typed."""

import sys
from pathlib import Path

import pytest

from holdfast import SyncClient
from tests.edges.cli.conftest import CommandLine
from tests.edges.cli.shop import add

WITHOUT_APP = [
    ["status"], ["backlog"], ["doctor"], ["list"], ["list", "--jobs"], ["show", "ID"], ["show", "ID", "--payload"],
    ["report", "ID"], ["events", "ID"], ["run-now", "ID"], ["cancel", "ID"], ["retry", "ID"], ["pause", "add"],
    ["resume", "add"], ["pause", "unknown"], ["delete", "ID", "--yes"], ["prune"], ["migrate"], ["config"],
]  # fmt: skip

NEEDING_ONE = [["start", "add", "--input", "{}"], ["worker"], ["supervise"]]


@pytest.fixture(params=["file", "environment"])
def imported(request: pytest.FixtureRequest, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that shows whether the application was imported, which then fails."""
    shown = tmp_path / "imported"
    (tmp_path / "broken_shop.py").write_text(f"open({str(shown)!r}, 'w').close()\nraise SystemExit('imported')\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    if request.param == "file":
        monkeypatch.delenv("HOLDFAST_APP")
        (tmp_path / "holdfast.toml").write_text('app = "broken_shop:jobs"\n')
    else:
        monkeypatch.setenv("HOLDFAST_APP", "broken_shop:jobs")
    return shown


@pytest.mark.parametrize("command", WITHOUT_APP, ids=" ".join)
def test_a_command_that_needs_no_app_does_not_import_it(
    holdfast: CommandLine, client: SyncClient, imported: Path, command: list[str]
) -> None:
    chain = client.start(add.bind(a=1), delay=100)
    if command[0] == "retry":
        client.cancel(chain)

    holdfast(*(chain.id if argument == "ID" else argument for argument in command))

    assert not imported.exists()


@pytest.mark.parametrize("command", NEEDING_ONE, ids=lambda command: command[0])
def test_a_command_that_needs_the_app_says_that_it_cannot_be_imported(
    holdfast: CommandLine, imported: Path, command: list[str]
) -> None:
    assert "cannot be imported" in holdfast(*command, exit=2).err
    assert imported.exists()


def test_an_app_that_is_typed_and_cannot_be_imported_is_a_warning_where_none_is_needed(
    holdfast: CommandLine, imported: Path
) -> None:
    assert "cannot be imported" in holdfast("status", "--app", "broken_shop:jobs").err
    assert imported.exists()


def test_doctor_names_the_app_that_it_does_not_import(holdfast: CommandLine, imported: Path) -> None:
    findings = {each["subject"]: each for each in holdfast.json("doctor")["findings"]}

    assert "broken_shop:jobs from" in findings["app"]["detail"]
    assert "not imported" in findings["app"]["detail"]
