"""Inputs, outputs and continuations that do not match their types fail the attempt."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Bound
from holdfast.engine.operations import Start
from holdfast.testing.builders import new_job
from tests.worker.harness import WorkerHarness


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
@pytest.mark.parametrize(
    "output", [object(), 2**63, float("nan"), "\0", "x" * 2_000_000], ids=["type", "int", "nan", "nul", "size"]
)
async def test_an_output_that_cannot_be_stored_exactly_fails_the_attempt(
    harness: WorkerHarness, output: Any, plain: bool
) -> None:
    if plain:

        @harness.jobs.job(name="odd")
        def odd() -> Any:
            return output

    else:

        @harness.jobs.job(name="odd")
        async def odd_async() -> Any:
            return output

    chain = await harness.start(harness.jobs["odd"].bind(), max_attempts=1)
    async with harness.worker():
        await harness.ended(chain)

    job = await harness.job(chain)
    assert job.status == "failed"
    assert "PayloadRefused" in str(job.error)


async def test_an_output_of_the_wrong_type_fails_the_attempt(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def wrong_output() -> int:
        return "seven"  # type: ignore[return-value]  # pyright: ignore[reportReturnType]

    chain = await harness.start(wrong_output.bind(), max_attempts=1)
    async with harness.worker():
        await harness.ended(chain)

    assert "wrong_output: its output" in str((await harness.job(chain)).error)


@pytest.mark.parametrize("stored", [b"{", b"[]", b"{}", b'{"number":"x"}'], ids=["broken", "list", "missing", "type"])
async def test_an_input_that_does_not_match_is_a_mismatch_and_backs_off(harness: WorkerHarness, stored: bytes) -> None:
    @harness.jobs.job
    async def double(number: int) -> int:
        return number * 2

    job = new_job("double", input=stored)
    await harness.store.perform(Start((job,)))
    async with harness.worker():
        event = await harness.recorder.receive("mismatched", job_id=job.id)

    assert event.error is not None
    assert (await harness.job(job.id)).attempt == 0


async def test_a_continuation_that_cannot_be_written_fails_the_attempt(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def after_nothing() -> Bound[int]:
        return double.bind(1).options(after=["no such chain"])

    @harness.jobs.job
    async def double(number: int) -> int:
        return number * 2

    chain = await harness.start(after_nothing.bind(), max_attempts=1)
    async with harness.worker():
        await harness.ended(chain)

    assert "no such chain" in str((await harness.job(chain)).error)


@pytest.mark.parametrize("option", ["key", "id"])
async def test_a_continuation_takes_no_key_and_no_id(harness: WorkerHarness, option: str) -> None:
    @harness.jobs.job
    async def other_type() -> None: ...

    @harness.jobs.job
    async def continues_with_options() -> Bound[int]:
        named: Any = {option: other.id}
        return double.bind(1).options(**named)

    @harness.jobs.job
    async def double(number: int) -> int:
        return number * 2

    other = await harness.start(other_type.bind(), delay=1000)
    chain = await harness.start(continues_with_options.bind(), max_attempts=1)
    async with harness.worker():
        await harness.ended(chain)

    assert f"takes no {option}" in str((await harness.job(chain)).error)
    assert (await harness.job(other)).type == "other_type"
