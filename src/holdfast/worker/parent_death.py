"""Die with the parent, where the kernel offers it. Pipes that close do the same everywhere, only later."""

from __future__ import annotations

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1


def signal_when_parent_dies(number: int, *, parent: int) -> None:
    """Have the kernel send this process a signal when its parent ends, however it ends. Only Linux can.

    `parent` is the parent's id as the parent knows it: where it died before we could ask, the signal comes at once.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    except (OSError, AttributeError):  # a system without it, or a sandbox that forbids it: the pipe remains
        return
    if os.getppid() != parent:
        os.kill(os.getpid(), number)
