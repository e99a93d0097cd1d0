"""Memory and CPU time of a process and its children, read from /proc. Empty on other systems."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def memory(group: int) -> int:
    """Bytes of a process group. Shared pages count once."""
    total = 0
    for pid in _members(group):
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024
    return total


def cpu(group: int) -> float:
    """Seconds of CPU that a process group has used."""
    used = 0.0
    for pid in _members(group):
        fields = _stat(pid)
        if fields:
            used += sum(int(each) for each in fields[11:15]) / _TICKS
    return used


def _members(group: int) -> list[int]:
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        fields = _stat(int(folder.name))
        if fields and int(fields[2]) == group:
            found.append(int(folder.name))
    return found


def _stat(pid: int) -> list[str]:
    """The fields after the name, which may contain any character."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
