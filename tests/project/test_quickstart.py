"""The quickstart does what it says, typed into the prompt that it names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.project.snippets import ROOT, snippets

PAGE = ROOT / "docs" / "quickstart.md"
PROMPT = "python -m asyncio"


def test_the_quickstart_runs_at_the_prompt(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    first, *others = [each for each in snippets(PAGE) if each.language in ("python", "pycon")]
    assert first.file == "tasks.py"
    (tmp_path / first.file).write_text(first.text)
    # An empty line ends a block at the prompt.
    typed = "".join(re.sub(r"^>>> ", "", each.text, flags=re.MULTILINE) + "\n" for each in others)

    prompt = PROMPT.split()[1:] if sys.version_info < (3, 13) else [str(ROOT / "tests" / "project" / "prompt.py")]
    done = subprocess.run(
        [sys.executable, *prompt], input=typed, cwd=tmp_path, env={**os.environ, "PYTHONPATH": ""},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip

    assert f"`{PROMPT}`" in page
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    printed = re.findall(r"print\(.+\)\s+# (.+)", page)
    assert len(printed) > 2
    for line in printed:
        assert line in done.stdout or line == "start and wait in one"
