"""The machine on which the figures were measured."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from pathlib import Path


def machine() -> dict[str, str]:
    """Facts that a figure depends on."""
    return {
        "measured": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "processor": _line("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def load() -> float:
    """The load of the machine during the last minute."""
    return round(os.getloadavg()[0], 2)


@cache
def commit() -> str:
    """The commit that is measured, with a `+` if files have been changed since. Empty without git."""
    found = _git("rev-parse", "--short=10", "HEAD")
    return f"{found}+" if found and _git("status", "--porcelain", "--untracked-files=no", "--", "src") else found


def _git(*command: str) -> str:
    try:
        done = subprocess.run(
            ["git", *command],  # noqa: S607 - wherever git is installed
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return done.stdout.strip()


def _memory() -> str:
    kilobytes = _line("/proc/meminfo", "MemTotal").split()
    return f"{int(kilobytes[0]) / 1e6:.0f} GB" if kilobytes else "unknown"


def _line(path: str, name: str) -> str:
    file = Path(path)
    lines = file.read_text().splitlines() if file.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")
