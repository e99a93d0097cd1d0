"""The examples about queues do what they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str) -> list[str]:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("queue_encryption.py", ["{'patient': 'Ada', 'finding': 'healthy'}", "readable in the file: False"]),
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
def test_an_example_prints_what_it_promises(name: str, printed: list[str]) -> None:
    assert run(name) == printed
