"""A program that a timer interrupts many times, at random points, continues and ends by itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.interrupts.interrupting import EVERY_POINT
from tests.queue.addresses import ADDRESSES

TIMES = 700 if EVERY_POINT else 100
PROGRAM = Path(__file__).with_name("producer.py")


@pytest.mark.parametrize("name", ADDRESSES)
def test_a_program_continues_after_each_of_many_interruptions(name: str, tmp_path: Path) -> None:
    address = ADDRESSES[name](tmp_path)

    ended = subprocess.run(
        [sys.executable, str(PROGRAM), address, str(TIMES)], capture_output=True, text=True, check=False
    )

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "done\n"
