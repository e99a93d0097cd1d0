"""Which exceptions end the program that runs a handler, and which only end the handler's attempt."""

from __future__ import annotations

import asyncio
import signal
import threading
from typing import Any


def is_ctrl_c(error: BaseException) -> bool:
    """Whether Python's own SIGINT handler may have raised this exception.

    That handler is replaced while a worker handles signals itself, and by `asyncio.run`. A KeyboardInterrupt that is
    raised then comes from the code of a handler, and is an error like any other.
    """
    return (
        isinstance(error, KeyboardInterrupt)
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )


def ends_task(error: BaseException, task: asyncio.Task[Any]) -> bool:
    """Whether this exception ends the task from outside: the task is cancelled, its coroutine is closed, or Ctrl-C."""
    if isinstance(error, asyncio.CancelledError):
        return task.cancelling() > 0
    # Code that the task runs can raise GeneratorExit too. A coroutine is closed only while its task does not run.
    if isinstance(error, GeneratorExit):
        return asyncio.current_task(task.get_loop()) is not task
    return is_ctrl_c(error)
