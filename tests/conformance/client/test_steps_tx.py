"""Steps and messages in transactions. SQL stores only."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Retry
from holdfast.testing.conformance.barrier import drive
from tests.conformance.client.application import Application, run
from tests.conformance.client.async_adapters import AttemptAdapter, Mode
from tests.conformance.client.harness import ClientHarness
from tests.conformance.client.transactional import application as application
from tests.conformance.client.transactional import make_store as make_store

NO_DELAY = Retry(initial=0, jitter=0, max_attempts=4)


async def test_the_writes_the_result_and_the_checkpoint_of_a_step_are_one_commit(
    harness: ClientHarness, application: Application
) -> None:
    async with application.sessions() as sessions:
        tries: list[str] = []

        async def write(tx: Any, text: str) -> str:
            tries.append(text)
            await application.note(tx, f"{text} {len(tries)}")
            if len(tries) == 1:
                raise ValueError("after the write")
            return text

        async def add(session: Any, text: str) -> str:
            await run(session.execute(application.insert(text)))
            return text

        def plain(function: Any) -> Any:
            def call(*args: Any) -> Any:
                return drive(function(*args))

            return function if harness.mode is Mode.ASYNC else call

        async def work(attempt: AttemptAdapter, number: int) -> Any:
            first = await attempt.call("tx_step", "write", plain(write), "a", returns=str)
            second = await attempt.call("tx_step", "add", plain(add), "b", returns=str, session=sessions)
            if attempt.job.attempt < 3:
                raise ValueError("after the steps")
            return [first, second]

        chain = await harness.client.start(harness.job(work, retry=NO_DELAY).bind(1))

        await harness.drain()

    assert (await harness.client.get(chain)).output == ["a", "b"]
    assert await application.notes() == ["a 2", "b"]
    assert tries == ["a", "a"]
    assert [(step.name, step.attempt) for step in await harness.client.steps(chain)] == [("write", 2), ("add", 2)]


async def test_a_message_commits_or_rolls_back_with_the_applications_rows(
    harness: ClientHarness, application: Application
) -> None:
    async def work(attempt: AttemptAdapter, number: int) -> Any:
        return await attempt.call("receive", "paid", int)

    chain = await harness.client.start(harness.job(work).bind(1))
    await harness.drain()

    async def pay(amount: int, *, fails: bool) -> None:
        async with application.transaction() as tx:
            await application.note(tx, f"paid {amount}")
            assert await harness.client.send(chain, "paid", amount, tx=tx)
            assert await harness.client.steps(chain, tx=tx) == []
            if fails:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await pay(1, fails=True)
    assert await harness.drain() == []

    await pay(2, fails=False)
    await harness.drain()

    assert (await harness.client.get(chain)).output == 2
    assert await application.notes() == ["paid 2"]
