"""Runs the commands of a page, as a reader would type them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path


class Shell:
    """Runs the page's commands one by one, in one folder; what ends with `&` runs until it is killed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # `make dist` runs the page with the installed wheel.
        commands = os.environ.get("HOLDFAST_BIN", Path(sys.executable).parent)
        path = f"{commands}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, "PYTHONPATH": str(folder)}
        self._background: list[subprocess.Popen[bytes]] = []

    @property
    def running(self) -> int:
        """How many commands run in the background."""
        return len(self._background)

    def run(self, command: str) -> str:
        text = command.split("#", 1)[0].strip()
        if text.endswith("&"):
            background = subprocess.Popen(
                text.removesuffix("&").split(), cwd=self._folder, env=self._environment, stderr=subprocess.DEVNULL
            )
            self._background.append(background)
            return ""
        if text.startswith(("python -m pip ", "python -m venv ")) or not text:
            return ""  # the packages are there
        if text.startswith("kill %"):
            self.close()
            return ""
        done = subprocess.run(
            ["bash", "-ec", text], cwd=self._folder, env=self._environment, capture_output=True, text=True,
            timeout=240, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout

    def close(self) -> None:
        while self._background:
            background = self._background.pop()
            background.send_signal(signal.SIGTERM)
            assert background.wait(60) == 0
