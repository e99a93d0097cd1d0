"""Runs the event loop of a worker process."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from holdfast.engine.interruption import is_ctrl_c
from holdfast.engine.observers import log

R = TypeVar("R")


def run(main: Coroutine[Any, Any, R]) -> R:
    """Like `asyncio.run`, but continue when a task of a handler raises KeyboardInterrupt or SystemExit.

    asyncio stops the event loop when any task raises one of these. The exception is also the result of that task, so
    the handler that awaits the task receives it. The loop continues where it stopped.
    """
    task: asyncio.Task[Any] | None = None

    async def remembered() -> R:
        nonlocal task
        task = asyncio.current_task()
        return await main

    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        try:
            return runner.run(remembered())
        except (KeyboardInterrupt, SystemExit) as error:
            cause: BaseException = error
        while task is not None and not task.done() and not is_ctrl_c(cause):
            log.error("a task raised %s; the worker continues", type(cause).__name__, exc_info=cause)
            try:
                return loop.run_until_complete(task)  # type: ignore[no-any-return]
            except (KeyboardInterrupt, SystemExit) as error:
                cause = error
        raise cause
