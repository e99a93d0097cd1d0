"""The processes of one version of Holdfast on one store."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import wait_until

PROGRAM = Path(__file__).with_name("program.py")


class Version:
    """One version of Holdfast, and its processes on one store."""

    def __init__(self, label: str, folder: Path, address: str, output: Path) -> None:
        self.label = label
        self.address = address
        self.output = output
        self.environment = {**os.environ, "PYTHONPATH": str(folder)}

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command of this version."""
        return subprocess.Popen(
            [sys.executable, "-m", "holdfast.cli", *arguments, "--store", self.address],
            env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def holdfast(self, *arguments: str, code: int = 0) -> str:
        """Run a command of this version. Returns what it wrote."""
        process = self.begin(*arguments)
        written, _ = process.communicate()
        assert process.returncode == code, written
        return written

    @contextmanager
    def running(self, role: str) -> Generator[None]:
        """A worker or a producer until the end of the block. It writes no warning and ends without an error."""
        log, errors = self.output / f"{self.label}-{role}", self.output / f"{self.label}-{role}-errors"
        with log.open("w") as written, errors.open("w") as warned:
            process = subprocess.Popen(
                [sys.executable, str(PROGRAM), role, self.address, self.label],
                env=self.environment, stdout=written, stderr=warned,
            )  # fmt: skip
            try:
                yield
            finally:
                process.terminate()
                ended = process.wait(60)
        assert (ended, errors.read_text()) == (0, ""), errors.read_text()

    def started(self) -> int:
        """How many times its producer has started chains."""
        log = self.output / f"{self.label}-producer"
        return len(log.read_text().splitlines()) if log.exists() else 0

    def wait_for_starts(self, more: int = 10) -> None:
        enough = self.started() + more
        wait_until(lambda: self.started() >= enough)
