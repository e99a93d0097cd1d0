"""Exceptions that a handler may raise, and the places where it raises them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tests.conformance.client.async_adapters import AttemptAdapter


class Unprintable(Exception):
    """Raises another error when it is formatted."""

    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class Interrupting(Exception):
    """Raises KeyboardInterrupt when it is formatted."""

    def __str__(self) -> str:
        raise KeyboardInterrupt

    __repr__ = __str__


class Delegating(Exception):
    """Raises KeyboardInterrupt when an attribute that it does not have is read, for example by a log handler."""

    def __getattr__(self, name: str) -> Any:
        raise KeyboardInterrupt(name)


class Disguised(Exception):
    """Raises another error when `isinstance` reads its class."""

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            raise ValueError("no class")
        return super().__getattribute__(name)


class Truthless(Exception):
    """Raises SystemExit when its truth value is tested."""

    def __bool__(self) -> bool:
        raise SystemExit


ERRORS: list[Callable[[], BaseException]] = [
    GeneratorExit, KeyboardInterrupt, SystemExit, StopIteration, StopAsyncIteration, asyncio.CancelledError,
    Unprintable, Interrupting, Delegating, Disguised, Truthless,
]  # fmt: skip


async def _in_handler(attempt: AttemptAdapter, error: BaseException) -> Any:
    raise error


async def _in_complete(attempt: AttemptAdapter, error: BaseException) -> Any:
    async with attempt.complete() as done:
        done.output(1)
        raise error


async def _after_complete(attempt: AttemptAdapter, error: BaseException) -> Any:
    async with attempt.complete() as done:
        done.output(1)
    raise error


async def _in_prepare(attempt: AttemptAdapter, error: BaseException) -> Any:
    async with attempt.prepare():
        raise error


async def _in_atomic_prepare(attempt: AttemptAdapter, error: BaseException) -> Any:
    async with attempt.prepare("atomic"):
        raise error


async def _after_atomic_prepare(attempt: AttemptAdapter, error: BaseException) -> Any:
    async with attempt.prepare("atomic"):
        pass
    raise error


PLACES = [_in_handler, _in_complete, _after_complete, _in_prepare, _in_atomic_prepare, _after_atomic_prepare]
