"""Runs coroutines at the same time: each in its own thread, or as tasks of one event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from holdfast.errors import HoldfastError

R = TypeVar("R")

TIMEOUT = 60.0
"""Seconds of real time after which a wait fails."""


def race_threads(actions: Sequence[Coroutine[Any, Any, R]]) -> list[R | HoldfastError]:
    """Run coroutines that never suspend, each in its own thread. A barrier starts all at the same moment."""
    barrier = threading.Barrier(len(actions), timeout=TIMEOUT)
    answers: dict[int, R | HoldfastError] = {}
    failures: list[BaseException] = []

    def run_one(number: int, action: Coroutine[Any, Any, R]) -> None:
        try:
            barrier.wait()
            answers[number] = drive(action)
        except HoldfastError as error:
            answers[number] = error
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run_one, args=pair) for pair in enumerate(actions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return [answers[number] for number in range(len(actions))]


async def race_tasks(actions: Sequence[Coroutine[Any, Any, R]]) -> list[R | HoldfastError]:
    """Run coroutines as tasks. A barrier starts all at the same moment."""
    barrier = asyncio.Barrier(len(actions))

    async def run_one(action: Coroutine[Any, Any, R]) -> R | HoldfastError:
        await barrier.wait()
        try:
            return await action
        except HoldfastError as error:
            return error

    return list(await asyncio.gather(*map(run_one, actions)))


def drive(coroutine: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    coroutine.close()
    raise RuntimeError("a case in blocking mode waited for an event loop")
