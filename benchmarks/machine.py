"""The machine on which the figures were measured."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
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
        "load before": f"{os.getloadavg()[0]:.2f}",
    }


def _memory() -> str:
    kilobytes = _line("/proc/meminfo", "MemTotal").split()
    return f"{int(kilobytes[0]) / 1e6:.0f} GB" if kilobytes else "unknown"


def _line(path: str, name: str) -> str:
    file = Path(path)
    lines = file.read_text().splitlines() if file.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")
