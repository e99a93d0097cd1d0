"""A handler may continue only with types that its return annotation allows."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Attempt, Bound
from tests.worker.harness import WorkerHarness


@pytest.fixture
def harness_with_types(harness: WorkerHarness) -> WorkerHarness:
    @harness.jobs.job
    async def text() -> str:
        return "text"

    @harness.jobs.job
    async def number() -> bool:
        return True

    @harness.jobs.declare
    async def later() -> int | None:
        raise NotImplementedError

    # These handlers violate their annotations on purpose.
    @harness.jobs.job
    async def to_text() -> int | Bound[int]:
        return text.bind()  # type: ignore[return-value]  # pyright: ignore[reportReturnType]

    @harness.jobs.job
    async def done_to_text(attempt: Attempt) -> int | Bound[int]:
        async with attempt.complete() as done:
            return done.continue_with(text.bind())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportReturnType]

    @harness.jobs.job
    async def never() -> str:
        return text.bind()  # type: ignore[return-value]  # pyright: ignore[reportReturnType]

    @harness.jobs.job
    async def to_number() -> int | Bound[int]:
        return number.bind()

    async def unsaid() -> Any:
        return text.bind()

    unsaid.__annotations__.clear()
    later.handler(unsaid)

    return harness


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("to_text", "TypeError: to_text must continue with a job type that returns int; text returns str"),
        ("done_to_text", "TypeError: done_to_text must continue with a job type that returns int; text returns str"),
        ("later", "TypeError: later must continue with a job type that returns int | None; text returns str"),
        (
            "never",
            "TypeError: never is declared to return str, and returned text.bind(...);"
            " a handler that may continue is annotated `str | Bound[str]`",
        ),
    ],
)
async def test_a_continuation_of_another_type_fails_the_attempt(
    harness_with_types: WorkerHarness, name: str, reason: str
) -> None:
    harness = harness_with_types
    chain = await harness.start(harness.jobs[name].bind(), max_attempts=1)

    async with harness.worker():
        await harness.ended(chain)

    assert str((await harness.job(chain)).error) == reason


async def test_a_continuation_of_a_narrower_type_is_taken(harness_with_types: WorkerHarness) -> None:
    harness = harness_with_types
    chain = await harness.start(harness.jobs["to_number"].bind())

    async with harness.worker():
        assert await harness.client.wait(chain, timeout=60) is True
