"""`--help`: every command has a help text, and the options and exit codes that it names exist."""

import re
import subprocess
import sys
from typing import Any, cast

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from holdfast.cli import main
from holdfast.cli.app import app
from holdfast.cli.exit_codes import MEANINGS

COMMANDS: list[str] = sorted(cast("Any", get_command(app)).commands)
WANTED = {
    "cancel", "delete", "demo", "doctor", "explain", "list", "migrate", "pause", "prune", "report", "resume", "retry",
    "run-now", "show", "start", "status", "wait", "worker", "workers",
    "schedules", "schedule", "unschedule", "fire", "backfill",
    "pause-schedule", "resume-schedule", "send",
}  # fmt: skip


def test_every_command_is_there() -> None:
    assert set(COMMANDS) >= WANTED


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_lists_exit_codes_and_shared_options(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "400", "TERMINAL_WIDTH": "400"})

    assert result.exit_code == 0
    for option in ("--json", "--store", "--app", "--config"):
        assert option in result.output
    assert all(f"{int(code)} {meaning}" in result.output for code, meaning in MEANINGS.items())


def test_help_names_the_commands_that_use_the_app_of_the_environment() -> None:
    shown = CliRunner().invoke(app, ["explain", "--help"], env={"COLUMNS": "400", "TERMINAL_WIDTH": "400"}).output

    assert "`start`, `schedule`, `worker` and `supervise` default to HOLDFAST_APP, else the file" in shown


@pytest.mark.parametrize("command", COMMANDS)
def test_help_keeps_its_brackets_and_shows_no_value_for_a_flag(command: str) -> None:
    made = cast("Any", get_command(app)).commands[command]
    written = [unescape(text) for text in (made.help, *(getattr(each, "help", None) for each in made.params)) if text]

    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "400", "TERMINAL_WIDTH": "400"}).output

    assert all(name in shown for text in written for name in re.findall(r"\[.+?\]", text))
    assert "<bool>" not in shown


def test_help_keeps_the_name_of_a_table_in_the_file() -> None:
    shown = CliRunner().invoke(app, ["supervise", "--help"], env={"COLUMNS": "400", "TERMINAL_WIDTH": "400"}).output

    assert "[workers] in the file sets how many" in shown
    assert "listen in [health]" in shown
    assert "supervise [OPTIONS] [MODULE:JOBS]" in shown


def unescape(text: str) -> str:
    return text.replace("\\[", "[")


def test_an_interrupt_while_it_loads_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("holdfast.cli.app.main", interrupted)

    with pytest.raises(SystemExit) as end:
        main()

    assert end.value.code == 130


def test_importing_holdfast_brings_neither_the_command_line_nor_what_it_draws_with() -> None:
    source = "import sys, holdfast; print([name for name in sys.modules if name.split('.')[0] in ('typer', 'rich')"
    source += " or name.startswith(('holdfast.cli.', 'holdfast.demo.'))])"

    answer = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)

    assert answer.stdout == "[]\n"


def test_no_command_is_a_request_for_help() -> None:
    result = CliRunner().invoke(app, [])

    assert "Usage" in result.output


def test_the_version_is_printed() -> None:
    assert CliRunner().invoke(app, ["--version"]).output.startswith("holdfast ")
