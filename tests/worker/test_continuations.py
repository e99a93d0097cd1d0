"""A handler continues to what its return annotation allows, and to nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Attempt, Bound
from tests.worker.stage import Stage


@pytest.fixture
def stage_with_steps(stage: Stage) -> Stage:
    @stage.jobs.job
    async def text() -> str:
        return "text"

    @stage.jobs.job
    async def number() -> bool:
        return True

    @stage.jobs.declare
    async def later() -> int | None:
        raise NotImplementedError

    # Handlers lie about what they return, as nobody with a type checker could.
    @stage.jobs.job
    async def to_text() -> int | Bound[int]:
        return text.bind()  # type: ignore[return-value]  # pyright: ignore[reportReturnType]

    @stage.jobs.job
    async def done_to_text(attempt: Attempt) -> int | Bound[int]:
        async with attempt.complete() as done:
            return done.continue_with(text.bind())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportReturnType]

    @stage.jobs.job
    async def never() -> str:
        return text.bind()  # type: ignore[return-value]  # pyright: ignore[reportReturnType]

    @stage.jobs.job
    async def to_number() -> int | Bound[int]:
        return number.bind()

    async def unsaid() -> Any:
        return text.bind()

    unsaid.__annotations__.clear()
    later.handler(unsaid)

    return stage


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("to_text", "TypeError: to_text continues to what gives int; text gives str"),
        ("done_to_text", "TypeError: done_to_text continues to what gives int; text gives str"),
        ("later", "TypeError: later continues to what gives int | None; text gives str"),
        (
            "never",
            "TypeError: never is declared to return str, and returned text.bind(...);"
            " one that may continue is annotated `str | Bound[str]`",
        ),
    ],
)
async def test_a_continuation_of_another_type_fails_the_attempt(
    stage_with_steps: Stage, name: str, reason: str
) -> None:
    stage = stage_with_steps
    chain = await stage.start(stage.jobs[name].bind(), max_attempts=1)

    async with stage.worker():
        await stage.ended(chain)

    assert str((await stage.job(chain)).error) == reason


async def test_a_continuation_of_a_narrower_type_is_taken(stage_with_steps: Stage) -> None:
    stage = stage_with_steps
    chain = await stage.start(stage.jobs["to_number"].bind())

    async with stage.worker():
        assert await stage.client.wait(chain, timeout=30) is True
