"""Ends a child process when its parent ends. Linux sends a signal; elsewhere the child notices the closed pipe."""

from __future__ import annotations

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1


def signal_when_parent_dies(number: int, *, parent: int) -> None:
    """Ask the kernel to send this process a signal when its parent ends for any reason. Does nothing outside Linux.

    `parent` is the parent's process id. If the parent has ended already, the signal is sent at once.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    except (OSError, AttributeError):  # not supported, or forbidden by a sandbox: the pipe still works
        return
    if os.getppid() != parent:
        os.kill(os.getpid(), number)
