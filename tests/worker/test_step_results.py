"""The results of steps: their types, their validation, their limits."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import (
    Attempt,
    PayloadRefused,
    Retry,
)
from tests.worker.harness import WorkerHarness
from tests.worker.step_runs import Payment, run


async def test_results_are_validated_and_typed(harness: WorkerHarness) -> None:
    untyped: Any = eval("lambda value: value")  # noqa: S307 - a function without annotations

    async def wrong() -> int:
        return "text"  # type: ignore[return-value]

    @harness.jobs.job
    async def work(attempt: Attempt) -> list[str]:
        assert await attempt.step("plain", untyped, {"a": [1, None]}) == {"a": [1, None]}
        assert await attempt.step("returns", untyped, Payment(3), returns=Payment) == Payment(3)
        found: list[str] = []
        calls: list[tuple[str, Any, tuple[Any, ...]]] = [
            ("tuple", untyped, ((1, 2),)),
            ("struct", untyped, (Payment(1),)),
            ("wrong", wrong, ()),
        ]
        for name, function, args in calls:
            try:
                await attempt.step(name, function, *args)
            except PayloadRefused as error:
                found.append(str(error))
        return found

    chain = await harness.start(work.bind())

    assert await run(harness) == ["completed"]
    found = (await harness.chain(chain)).output
    assert found is not None
    assert [name in text for name, text in zip(("'tuple'", "'struct'", "'wrong'"), found, strict=True)] == [True] * 3


async def test_a_stored_result_that_no_longer_matches_names_the_step_the_value_and_the_command(
    harness: WorkerHarness,
) -> None:
    async def old() -> dict[str, int]:
        return {"amount": 5}

    async def new() -> Payment:
        raise AssertionError

    @harness.jobs.job(retry=Retry(initial=0, max_attempts=2))
    async def work(attempt: Attempt) -> None:
        await attempt.step("charge", old if attempt.job.attempt == 1 else new)
        raise ValueError("no luck")

    chain = await harness.start(work.bind())

    await run(harness)

    error = (await harness.chain(chain)).error
    assert error is not None
    assert error.type == "PayloadRefused"
    assert all(part in error for part in ("'charge'", '{"amount":5}', f"holdfast retry {chain.id} --from-step charge"))


async def test_options_and_keyword_arguments_of_the_function_exclude_each_other(harness: WorkerHarness) -> None:
    async def function(*, amount: int) -> int:
        return amount

    @harness.jobs.job
    async def work(attempt: Attempt) -> str:
        assert await attempt.step("plain", function, amount=3) == 3
        with pytest.raises(TypeError, match=r"functools\.partial"):
            attempt.step("both", function, amount=3, each=1)  # type: ignore[call-overload]
        with pytest.raises(ValueError, match="1 to 200"):
            await attempt.step("", function, amount=3)
        with pytest.raises(TypeError, match="JSON value"):
            await attempt.step("each", lambda: 1, each=object())
        return "done"

    await harness.start(work.bind())

    assert await run(harness) == ["completed"]


async def test_limits_on_the_number_and_size_of_steps(harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.worker.steps.log.STEPS_LIMIT", 3)
    monkeypatch.setattr("holdfast.worker.steps.log.SIZE_LIMIT", 100)

    async def text(length: int) -> str:
        return "x" * length

    @harness.jobs.job
    async def work(attempt: Attempt) -> None:
        await attempt.step("a", text, 10)
        with pytest.raises(RuntimeError, match="100 bytes"):
            await attempt.step("b", text, 100)
        await attempt.step("c", text, 10)
        with pytest.raises(RuntimeError, match="3 steps"):
            await attempt.step("d", text, 1)

    await harness.start(work.bind())

    assert await run(harness) == ["completed"]
