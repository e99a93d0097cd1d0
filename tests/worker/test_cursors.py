"""Cursors of a handler: a later attempt continues after the last saved position."""

from __future__ import annotations

from holdfast import Attempt
from tests.worker.harness import WorkerHarness
from tests.worker.step_runs import run


async def test_a_cursor_continues_after_the_last_saved_position(harness: WorkerHarness) -> None:
    seen: list[int] = []

    def after(last: int | None) -> list[int]:
        return list(range(0 if last is None else last + 1, 10))

    @harness.jobs.job
    async def by_count(attempt: Attempt) -> None:
        async for row in attempt.cursor("rows", iter(range(10)), every=3):
            seen.append(row)
            if attempt.job.attempt == 1 and row == 7:
                raise ValueError("no luck")

    @harness.jobs.job
    async def by_item(attempt: Attempt) -> None:
        async for row in attempt.cursor("rows", after, every=4):
            seen.append(row)
            if attempt.job.attempt == 1 and row == 5:
                raise ValueError("no luck")

    chain = await harness.start(by_count.bind())
    await run(harness)
    assert seen == [*range(8), *range(6, 10)]
    (step,) = await harness.client.steps(chain)
    assert (step.name, step.result) == ("rows", 10)

    seen.clear()
    await harness.start(by_item.bind())
    await run(harness)
    assert seen == [*range(6), *range(4, 10)]


async def test_a_suspension_saves_the_position_of_a_cursor(harness: WorkerHarness) -> None:
    seen: list[int] = []

    @harness.jobs.job
    async def work(attempt: Attempt) -> None:
        async for row in attempt.cursor("rows", range(4)):
            seen.append(row)
            if row == 2:
                await attempt.sleep("nap", 60)

    await harness.start(work.bind())

    assert await run(harness, advance=True) == ["suspended", "completed"]
    assert seen == [0, 1, 2, 2, 3]
