"""The examples about queues do what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


GUIDE = EXAMPLES.parent / "docs" / "queue.md"


def run(program: Path, folder: Path) -> list[str]:
    command = [sys.executable, "-W", "error", str(program)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("queue_encryption.py", ["{'patient': 'Ada', 'finding': 'healthy'}", "readable in the file: False"]),
        (
            "queue_dead_letters.py",
            [
                "sent to ada@example.org",
                "email-2 failed 3 times: ValueError: not an address",
                "dead letter email-2: {'to': 'nowhere'}",
            ],
        ),
        (
            "queue_rpc.py",
            [
                "computing area(3, 4)",
                "[12, 12]",
                "computing area(-1, 4)",
                "ValueError: a side cannot be negative",
            ],
        ),
        (
            "queue_fastapi.py",
            ["200 https://example.org/cat.png?width=200", "200 completed", "422 ValueError: only https"],
        ),
    ],
)
def test_an_example_prints_what_it_promises(name: str, printed: list[str], tmp_path: Path) -> None:
    assert run(EXAMPLES / name, tmp_path) == printed


def test_the_guides_programs_run_as_they_stand(tmp_path: Path) -> None:
    programs = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    printed: list[str] = []
    for number, program in enumerate(programs):
        path = tmp_path / f"program_{number}.py"
        path.write_text(program)
        printed += run(path, tmp_path)

    assert sorted(printed) == [
        "email-1 sent to ada@example.org",
        "email-2 sent to bob@example.org",
        "sent to bob@example.org",
    ]
