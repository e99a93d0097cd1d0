"""The connections and open files of living processes.

Read from /proc for each process, independently of the server and the library.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

_ESTABLISHED = "01"


def connections(pids: Iterable[int], port: int) -> dict[int, int]:
    """The number of connections of each process to this local port."""
    ours = _sockets_to(port)
    return {pid: sum(link in ours for link in _open(pid)) for pid in pids}


def owner(near: int, port: int) -> int | None:
    """The process that holds the connection from local port `near` to local port `port`, or None."""
    wanted = {link for link, local in _sockets_to(port).items() if local == near}
    pids = (int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit())
    return next((pid for pid in pids if wanted.intersection(_open(pid))), None) if wanted else None


def ports(pid: int, port: int) -> set[int]:
    """The local ports of a process's connections to this port."""
    ours = _sockets_to(port)
    return {ours[link] for link in _open(pid) if link in ours}


def is_stopped(pid: int) -> bool:
    """Whether a signal has stopped the process, or it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "TtZX"
    except OSError:
        return True


def connections_reported(held: dict[int, int], *, served: int, allowed: int) -> dict[str, Any]:
    """The connections of processes, compared with those of the server and with the limit of one process."""
    most = max(held.values(), default=0)
    return {
        "at rest: processes": len(held),
        "at rest: connections": served,
        "at rest: most connections of a process": most,
        "at rest: connections allowed to one": allowed,
        "left: connections of a process beyond its pools": max(0, most - allowed),
        "left: connections that no process holds": max(0, served - sum(held.values())),
    }


def files(pids: Iterable[int], path: Path) -> dict[int, int]:
    """How many times each process has this file open."""
    return {pid: sum(link == str(path) for link in _open(pid)) for pid in pids}


def _open(pid: int) -> list[str]:
    """The link targets of the file descriptors of a process; empty if it has ended."""
    found: list[str] = []
    with suppress(OSError):
        for each in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                found.append(os.readlink(each))  # noqa: PTH115 - not a path: "socket:[4711]"
    return found


def _sockets_to(port: int) -> dict[str, int]:
    """The local port of each connection to this port, by the link target of its descriptor."""
    found: dict[str, int] = {}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        # 0: 0100007F:C0DE 0100007F:1538 01 00000000:00000000 00:00000000 00000000 0 0 4711 ...
        fields = line.split()
        if fields[3] == _ESTABLISHED and int(fields[2].rpartition(":")[2], 16) == port:
            found[f"socket:[{fields[9]}]"] = int(fields[1].rpartition(":")[2], 16)
    return found
