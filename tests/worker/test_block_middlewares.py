"""Middlewares around the prepare and complete blocks of an attempt; the first is outermost."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import Any

import pytest

from holdfast import Attempt, SyncAttempt
from tests.worker.harness import WorkerHarness

Next = Callable[[], Awaitable[Any]]

who: ContextVar[str] = ContextVar("who", default="nothing")


class Wrapping:
    """A middleware that also wraps prepare and complete."""

    def __init__(self, name: str, notes: list[str]) -> None:
        self.name = name
        self.notes = notes

    async def __call__(self, attempt: Any, call_next: Next, /) -> Any:
        return await call_next()

    @asynccontextmanager
    async def prepare(self, attempt: Any, tx: Any) -> AsyncGenerator[None]:
        async with self._note("prepare"):
            yield

    @asynccontextmanager
    async def complete(self, attempt: Any, done: Any) -> AsyncGenerator[None]:
        async with self._note("complete"):
            yield

    @asynccontextmanager
    async def _note(self, block: str) -> AsyncGenerator[None]:
        self.notes.append(f"{self.name} {block} in")
        before = who.set(f"{self.name} in {block}")
        try:
            yield
        except ZeroDivisionError:
            self.notes.append(f"{self.name} saw the error")
            raise
        finally:
            who.reset(before)
            self.notes.append(f"{self.name} {block} out")


async def plain_one(attempt: Any, call_next: Next) -> Any:
    """A middleware that wraps the attempt alone."""
    return await call_next()


def _declare_phases(harness: WorkerHarness, notes: list[str], *, plain: bool, fail: bool = False) -> Any:
    def phase(name: str) -> None:
        notes.append(f"{name} as {who.get()}")
        if fail and name == "completing":
            raise ZeroDivisionError

    if plain:

        @harness.jobs.job(name="phases")
        def phases(attempt: SyncAttempt) -> str:
            with attempt.prepare():
                phase("preparing")
            phase("working")
            with attempt.complete() as done:
                value = done.output("done")
                phase("completing")
            return value

    else:

        @harness.jobs.job(name="phases")
        async def phases_async(attempt: Attempt) -> str:
            async with attempt.prepare():
                phase("preparing")
            phase("working")
            async with attempt.complete() as done:
                value = done.output("done")
                phase("completing")
            return value

    return harness.jobs["phases"]


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
async def test_prepare_and_complete_are_wrapped_in_the_same_order(harness: WorkerHarness, plain: bool) -> None:
    notes: list[str] = []

    chain = await harness.start(_declare_phases(harness, notes, plain=plain).bind())
    async with harness.worker(middlewares=[Wrapping("a", notes), plain_one, Wrapping("b", notes)]):
        assert (await harness.ended(chain)).kind == "completed"

    assert notes == [
        "a prepare in",
        "b prepare in",
        "preparing as b in prepare",
        "b prepare out",
        "a prepare out",
        "working as nothing",
        "a complete in",
        "b complete in",
        "completing as b in complete",
        "b complete out",
        "a complete out",
    ]


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
async def test_a_block_middleware_sees_the_error_of_the_block(harness: WorkerHarness, plain: bool) -> None:
    notes: list[str] = []

    chain = await harness.start(_declare_phases(harness, notes, plain=plain, fail=True).bind())
    async with harness.worker(middlewares=[Wrapping("a", notes)]):
        assert (await harness.ended(chain)).kind == "retrying"

    assert notes[-2:] == ["a saw the error", "a complete out"]


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
@pytest.mark.parametrize("refused", ["prepare", "complete"])
async def test_an_error_while_a_block_is_entered_fails_the_attempt(
    harness: WorkerHarness, refused: str, plain: bool
) -> None:
    class Broken(Wrapping):
        @asynccontextmanager
        async def _note(self, block: str) -> AsyncGenerator[None]:
            if block == refused:
                raise ValueError(f"no {block}")
            yield

    chain = await harness.start(_declare_phases(harness, [], plain=plain).bind())
    async with harness.worker(middlewares=[Broken("a", [])]):
        event = await harness.ended(chain)

    assert (event.kind, str(event.error)) == ("retrying", f"ValueError: no {refused}")


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
async def test_a_completion_fails_even_if_a_middleware_catches_the_error_of_its_body(
    harness: WorkerHarness, plain: bool
) -> None:
    """After an error in the body the transaction may be incomplete, so it must not be committed."""

    class Swallowing(Wrapping):
        @asynccontextmanager
        async def _note(self, block: str) -> AsyncGenerator[None]:
            with suppress(ZeroDivisionError):
                yield

    chain = await harness.start(_declare_phases(harness, [], plain=plain, fail=True).bind())
    async with harness.worker(middlewares=[Swallowing("a", [])]):
        event = await harness.ended(chain)

    assert event.kind == "retrying"
