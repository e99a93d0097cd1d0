"""The tutorial does what it says, step by step, in an empty folder."""

from __future__ import annotations

import re
import time
import urllib.request
from pathlib import Path

from tests.project.shell import Shell
from tests.project.snippets import ROOT, snippets
from tests.servers.ports import free_port

PAGE = ROOT / "docs" / "tutorial.md"


def test_the_tutorial_runs_as_it_stands(shell: Shell, tmp_path: Path) -> None:
    port = free_port()
    answers: dict[str, str] = {}
    printed = ""
    for snippet in snippets(PAGE):
        if snippet.language == "text":
            assert [line for line in _fixed(snippet.text) if line not in _fixed(printed)] == []
        elif file := re.match(r"# (\S+\.(?:py|toml))\n", snippet.text):
            (tmp_path / file[1]).write_text(snippet.text)
        else:
            lines = snippet.text.replace("8765", str(port)).splitlines()
            answers.update((line, shell.run(line)) for line in lines)
            printed = "\n".join(answers[line] for line in lines)
            if "holdfast dashboard" in snippet.text:
                assert "Overview" in _page(f"http://127.0.0.1:{port}/")

    assert "No live worker runs jobs of the type `charge`" in answers["holdfast explain $(cat id.txt)"]
    assert answers["holdfast wait $(cat id.txt) --timeout 30s"] == '"parcel 1"\n'
    assert "CE" in answers["holdfast schedules"]
    assert "1 passed" in answers["python -m pytest -q test_shop.py"]
    assert shell.running == 0


def _fixed(output: str) -> list[str]:
    """The lines without what differs from run to run: ids, times, and spaces at the end."""
    changing = r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+Z|\d+\.\d+s"
    return [re.sub(changing, "X", line).rstrip() for line in output.splitlines()]


def _page(address: str) -> str:
    """The page, once the server has started."""
    until = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(address, timeout=10) as answer:  # noqa: S310 - our own address
                return str(answer.read(), "utf-8")
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
