"""Child processes of the cluster: they write into a log file, and end with this process."""

from __future__ import annotations

import ctypes
import os
import pwd
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

START_SECONDS = 90.0
_PR_SET_PDEATHSIG = 1


class Missing(RuntimeError):
    """A program that the cluster needs is not installed."""


def owner() -> pwd.struct_passwd | None:
    """The user of the servers if this process is root: PostgreSQL does not run as root."""
    return pwd.getpwnam("postgres") if os.geteuid() == 0 else None


def free_port() -> int:
    """A port that nothing listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def spawn(
    command: Sequence[str], log: Path, *, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a server as its owner, in a session of its own, so that a signal reaches all of its processes."""
    user = owner()
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdout=output,
            stderr=output,
            cwd=log.parent,
            env={**os.environ, "HOME": str(log.parent), **(environment or {})},
            start_new_session=True,
            preexec_fn=_die_with_parent,
            user=None if user is None else user.pw_uid,
            group=None if user is None else user.pw_gid,
            extra_groups=None if user is None else [],
        )


def end(process: subprocess.Popen[bytes], how: signal.Signals = signal.SIGTERM) -> None:
    """Signal the process, and kill it if it does not end."""
    if process.poll() is None:
        process.send_signal(how)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def request(url: str, body: bytes | None = None, *, timeout: float) -> bytes:
    """A request to a server on loopback. Raises OSError if it does not answer, or answers with an error."""
    call = urllib.request.Request(url, data=body)
    with urllib.request.urlopen(call, timeout=timeout) as reply:
        content: bytes = reply.read()
        return content


def wait_for(condition: Callable[[], bool], what: str, seconds: float = START_SECONDS) -> float:
    """Wait until the condition is true, and return the seconds that this took."""
    begun = time.monotonic()
    while not condition():
        if time.monotonic() - begun > seconds:
            raise TimeoutError(f"{what}: not within {seconds:.0f} seconds")
        time.sleep(0.05)
    return time.monotonic() - begun


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
