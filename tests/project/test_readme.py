"""The README's quickstart does what it says, step by step, in an empty folder."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.snippets import ROOT, Snippet, snippets

README = ROOT / "README.md"


@pytest.fixture
def shell(tmp_path: Path) -> Iterator["Shell"]:
    shell = Shell(tmp_path)
    yield shell
    shell.close()


class Shell:
    """Runs the page's commands one by one, in one folder; what ends with `&` runs until it is killed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, "PYTHONPATH": str(folder)}
        self._background: list[subprocess.Popen[bytes]] = []

    def run(self, command: str) -> str:
        words = command.split("#", 1)[0].strip()
        if words.endswith("&"):
            background = subprocess.Popen(
                words.removesuffix("&").split(), cwd=self._folder, env=self._environment, stderr=subprocess.DEVNULL
            )
            self._background.append(background)
            return ""
        if words == "kill %1":
            self.close()
            return ""
        done = subprocess.run(
            ["bash", "-ec", words], cwd=self._folder, env=self._environment, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout

    def close(self) -> None:
        while self._background:
            background = self._background.pop()
            background.send_signal(signal.SIGTERM)
            assert background.wait(20) == 0


def test_the_quickstart_runs_as_it_stands(shell: Shell, tmp_path: Path) -> None:
    answers: list[str] = []
    for snippet in quickstart():
        if snippet.language == "python":
            assert snippet.file is not None
            (tmp_path / snippet.file).write_text(snippet.text)
        else:
            answers += [shell.run(line) for line in snippet.text.splitlines()]

    _, _, finished, status, _ = answers
    assert finished == "parcel 1\n['parcel 1', 'parcel 2']\n"
    assert "0 due now" in status
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
