"""A supervisor as process 1: it adopts an orphan while it runs. Prints how many zombies remain."""

from __future__ import annotations

import asyncio
import ctypes
import os
import subprocess
import sys
from pathlib import Path

from holdfast import Event
from holdfast.supervisor import Supervisor
from tests.supervisor.harness import APP, QUICK

PR_SET_CHILD_SUBREAPER = 36
ORPHAN = "import os\nif os.fork() == 0: os._exit(0)\nos._exit(0)"


def zombies() -> int:
    """Children of this process that ended and were not reaped."""
    found = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        found += state == "Z" and int(parent) == os.getpid()
    return found


async def main(url: str, *, init: bool) -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def receive(event: Event) -> None:
        if event.kind == "process_ready":
            subprocess.run([sys.executable, "-c", ORPHAN], check=True)
            supervisor.stop()

    supervisor = Supervisor(url, APP, groups=[QUICK], init=init, observers=[receive])
    await supervisor.run()
    sys.stdout.write(f"{zombies()}\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], init=sys.argv[2] == "init"))
