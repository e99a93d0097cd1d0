"""What people are shown of hostile text: each command that shows jobs, on jobs that hold some."""

from __future__ import annotations

import subprocess
import sys
import unicodedata

from torture.history import History
from torture.payloads import HOSTILE
from torture.processes import ROOT

MOST_JOBS = 4


def render(address: str, jobs: list[str], history: History) -> None:
    """Show these jobs by every command that shows any, and note whether something got through as more than text."""
    commands = [["list", "--type", "hostile"], ["list", "--type", "hostile", "--json"], ["status"]]
    for job in jobs[:MOST_JOBS]:
        commands += [["show", job], ["show", job, "--json"], ["report", job]]
    for command in commands:
        ended = subprocess.run(
            [sys.executable, "-m", "holdfast.cli", *command, "--store", address],
            cwd=ROOT, capture_output=True, check=False, timeout=60,
        )  # fmt: skip
        shown = ended.stdout.decode(errors="replace") + ended.stderr.decode(errors="replace")
        history.note("render", command=" ".join(command[:2]), code=ended.returncode, raw=sorted(_raw(shown)))


def _raw(shown: str) -> set[str]:
    """Characters that steer a terminal, in what was shown; and lines that a payload began."""
    steering = {f"U+{ord(each):04X}" for each in shown if each != "\n" and unicodedata.category(each) in ("Cc", "Cf")}
    forged = {line for text in HOSTILE for line in text.splitlines()[1:] if f"\n{line}" in shown}
    return steering | forged
