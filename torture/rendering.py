"""Runs each command that displays jobs on jobs with hostile text."""

from __future__ import annotations

import unicodedata

from typer.testing import CliRunner

from holdfast.cli.app import app
from torture.history import History
from torture.payloads import HOSTILE

MOST_JOBS = 4


def render(address: str, jobs: list[str], history: History) -> None:
    """Display these jobs with each command, and record control characters in the output."""
    commands = [["list", "--type", "hostile"], ["list", "--type", "hostile", "--json"], ["status"]]
    for job in jobs[:MOST_JOBS]:
        commands += [["show", job, "--payload"], ["show", job, "--json"], ["report", job]]
    # In this process: to start a process for each command would take longer than the commands.
    runner = CliRunner()
    for command in commands:
        ended = runner.invoke(app, [*command, "--store", address])
        history.note("render", command=" ".join(command[:2]), code=ended.exit_code, raw=sorted(_raw(ended.output)))


def _raw(shown: str) -> set[str]:
    """Control characters in the output, and lines that a payload started."""
    steering = {f"U+{ord(each):04X}" for each in shown if each != "\n" and unicodedata.category(each) in ("Cc", "Cf")}
    forged = {line for text in HOSTILE for line in text.splitlines()[1:] if f"\n{line}" in shown}
    return steering | forged
