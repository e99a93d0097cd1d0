"""``python -m benchmarks.child``: one part of a run, in a process of its own, by the contender's own interpreter.

It needs nothing but the standard library and the contender's. Answers are lines of JSON; `ready` and `loaded` come
before it waits for a line on its input, so that processes which took long to start begin together.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import os
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.contender import Contender, Place, Unsupported
from benchmarks.contenders import contender
from benchmarks.ticks import VARIABLE, Ticks

LOAD_BATCH = 5000
LOOK_EVERY = 0.003


async def starts(it: Contender, options: argparse.Namespace, ticks: Ticks) -> dict[str, Any]:
    """Starts a second: one at a time, then many together."""
    await done(it.start(0))
    begun = time.perf_counter()
    if inspect.iscoroutinefunction(it.start):
        for number in range(options.count):
            await it.start(number)
    else:
        for number in range(options.count):
            it.start(number)
    one = options.count / (time.perf_counter() - begun)
    begun = time.perf_counter()
    for first in range(0, options.bulk, LOAD_BATCH):
        await done(it.start_many(range(first, min(first + LOAD_BATCH, options.bulk))))
    return {"one": one, "bulk": options.bulk / (time.perf_counter() - begun)}


async def drain(it: Contender, options: argparse.Namespace, ticks: Ticks) -> dict[str, Any]:
    """Preload; then report when the last job is settled in the store."""
    expected = 0
    for first in range(0, options.count, LOAD_BATCH):
        numbers = range(first, min(first + LOAD_BATCH, options.count))
        answer = await done(it.load(options.kind, numbers))
        expected += answer if isinstance(answer, int) else len(numbers)
    print(json.dumps({"loaded": expected}), flush=True)
    sys.stdin.readline()
    deadline = time.monotonic() + options.timeout
    left = expected
    while left and time.monotonic() < deadline:
        await asyncio.sleep(LOOK_EVERY)
        # The store is read only after all handlers have run, so that the reads do not slow the workers down.
        if ticks.count() >= expected:
            left = await done(it.left())
    ended = time.monotonic_ns()
    ran = ticks.count()
    if left or ran < expected:
        reported = f"{ran} of {expected} handlers ran and {left} jobs were unsettled after {options.timeout:.0f} s"
        return {"unfinished": reported}
    return {"seconds": (ended - ticks.first()) / 1e9, "jobs": options.count, "handlers": ran}


async def pick_up(it: Contender, options: argparse.Namespace, ticks: Ticks) -> dict[str, Any]:
    """Start jobs one after the other, each when the one before has run: how long until their handlers begin?"""
    seen = ticks.count()
    deadline = time.monotonic() + options.timeout
    for _ in range(options.count):
        await done(it.touch(time.monotonic_ns()))
        seen += 1
        while ticks.count() < seen:
            if time.monotonic() > deadline:
                return {"unfinished": f"{ticks.count()} of {seen} handlers ran after {options.timeout:.0f} s"}
            await asyncio.sleep(LOOK_EVERY)
        # Wait until the worker sleeps again.
        await asyncio.sleep(options.pause)
    return {"laps": ticks.laps()}


async def call(it: Contender, options: argparse.Namespace, ticks: Ticks) -> dict[str, Any]:
    """Start and wait, one after the other."""
    laps: list[float] = []
    deadline = time.monotonic() + options.timeout
    for number in range(options.count):
        begun = time.perf_counter()
        answer = await asyncio.wait_for(done(it.call(number)), options.timeout)
        laps.append(time.perf_counter() - begun)
        assert answer in (number + 1, None), f"asked for {number} + 1, got {answer!r}"
        if time.monotonic() > deadline:
            break
        await asyncio.sleep(options.pause)
    return {"laps": laps}


async def sequence(it: Contender, options: argparse.Namespace, ticks: Ticks) -> dict[str, Any]:
    """One handler with many steps: the medians that it measures."""
    return {"laps": await asyncio.wait_for(done(it.sequence(options.count)), options.timeout)}


async def alone(it: Any, options: argparse.Namespace, ticks: Ticks) -> dict[str, Any]:
    """Everything in one process, for a store that other processes cannot use."""
    return {"figure": await it.alone(options.kind, options.count)}


async def done(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


ROLES: dict[str, Callable[[Contender, argparse.Namespace, Ticks], Awaitable[dict[str, Any]]]] = {
    "starts": starts,
    "drain": drain,
    "pick_up": pick_up,
    "call": call,
    "sequence": sequence,
}


async def act(it: Contender, options: argparse.Namespace) -> dict[str, Any]:
    if options.role == "alone":
        return await alone(it, options, Ticks(Path(os.environ[VARIABLE])))
    await done(it.open())
    try:
        return await ROLES[options.role](it, options, Ticks(Path(os.environ[VARIABLE])))
    finally:
        await done(it.close())


def work(it: Contender, slots: int | None) -> None:
    print(json.dumps({"ready": True}), flush=True)
    sys.stdin.readline()
    if inspect.iscoroutinefunction(it.work):
        asyncio.run(it.work(slots))
    else:
        it.work(slots)


def _innermost(error: BaseException) -> BaseException:
    """The first error of an exception group."""
    inner: Sequence[BaseException] = getattr(error, "exceptions", ())
    return _innermost(inner[0]) if inner else error


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.child", description=__doc__)
    parser.add_argument("role", choices=["setup", "work", "alone", *ROLES])
    parser.add_argument("name")
    parser.add_argument("store")
    parser.add_argument("url")
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--bulk", type=int, default=0)
    parser.add_argument("--slots", type=int)
    parser.add_argument("--kind", default="plain")
    parser.add_argument("--pause", type=float, default=0.02)
    parser.add_argument("--timeout", type=float, default=60.0)
    options = parser.parse_args()
    try:
        it = contender(options.name)(Place(options.store, options.url))
        if options.role == "work":
            work(it, options.slots)
        elif options.role == "setup":
            # Some libraries refuse to block a thread that has an event loop.
            made = it.setup()
            if inspect.iscoroutine(made):
                asyncio.run(made)
            print(json.dumps({}), flush=True)
        else:
            print(json.dumps(asyncio.run(act(it, options))), flush=True)
    except Unsupported as reason:
        print(json.dumps({"unsupported": str(reason)}), flush=True)
    except Exception as error:
        traceback.print_exc()
        cause = _innermost(error)
        print(json.dumps({"error": f"{type(cause).__name__}: {cause}"[:300]}), flush=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
