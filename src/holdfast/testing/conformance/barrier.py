"""Coroutines run against each other: in threads of their own, or as tasks of one event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from holdfast.errors import HoldfastError

R = TypeVar("R")

PATIENCE = 20.0
"""Seconds of real time before what has not happened counts as never happening."""


def race_threads(actions: Sequence[Coroutine[Any, Any, R]]) -> list[R | HoldfastError]:
    """Run coroutines that never suspend in threads of their own, let go at the same moment."""
    barrier = threading.Barrier(len(actions), timeout=PATIENCE)
    answers: dict[int, R | HoldfastError] = {}
    broken: list[BaseException] = []

    def contend(number: int, action: Coroutine[Any, Any, R]) -> None:
        try:
            barrier.wait()
            answers[number] = drive(action)
        except HoldfastError as error:
            answers[number] = error
        except BaseException as error:
            broken.append(error)

    threads = [threading.Thread(target=contend, args=pair) for pair in enumerate(actions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if broken:
        raise broken[0]
    return [answers[number] for number in range(len(actions))]


async def race_tasks(actions: Sequence[Coroutine[Any, Any, R]]) -> list[R | HoldfastError]:
    """Run coroutines as tasks, let go at the same moment."""
    barrier = asyncio.Barrier(len(actions))

    async def contend(action: Coroutine[Any, Any, R]) -> R | HoldfastError:
        await barrier.wait()
        try:
            return await action
        except HoldfastError as error:
            return error

    return list(await asyncio.gather(*map(contend, actions)))


def drive(coroutine: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    coroutine.close()
    raise RuntimeError("a case in blocking mode waited for an event loop")
