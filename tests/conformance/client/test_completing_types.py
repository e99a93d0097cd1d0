"""A completion from outside checks the types of the current job and of its continuation."""

from __future__ import annotations

import pytest

from holdfast import (
    Jobs,
    WrongJobType,
)
from tests.conformance.client.harness import ClientHarness, value


async def text(number: int) -> str:
    return str(number)


async def test_a_continuation_with_an_output_of_another_type_is_refused(harness: ClientHarness) -> None:
    first, other = harness.jobs.job(value), harness.jobs.job(text)
    chain = await harness.client.start(first.bind(1))

    with pytest.raises(TypeError, match=r"value must continue with a job type that returns int; text returns str"):
        async with harness.client.completing(chain.id) as current:
            await current.continue_with(other.bind(2))

    assert (await harness.now(chain)).status == "pending"
    await harness.drain()
    assert await harness.client.wait(chain, timeout=60) == 1


async def test_a_declared_type_without_a_function_is_checked_too(harness: ClientHarness) -> None:
    first, other = harness.jobs.declare(value), harness.jobs.job(text)
    chain = await harness.client.start(first.bind(1))

    with pytest.raises(TypeError, match="text returns str"):
        async with harness.client.completing(chain.id) as current:
            await current.continue_with(other.bind(2))

    assert (await harness.now(chain)).type == "value"


async def test_each_of_several_continuations_is_checked(harness: ClientHarness) -> None:
    first, other = harness.jobs.job(value), harness.jobs.job(text)
    elsewhere = Jobs().job(name="elsewhere")(value)
    chain = await harness.client.start(first.bind(1))

    async with harness.client.completing(chain.id) as current:
        await current.continue_with(elsewhere.bind(2))
        with pytest.raises(TypeError, match="elsewhere must continue with a job type that returns int"):
            await current.continue_with(other.bind(3))

    assert (await harness.now(chain)).type == "elsewhere"


async def test_if_the_current_type_is_unknown_the_type_of_the_chain_is_checked(harness: ClientHarness) -> None:
    first, other = harness.jobs.job(value), harness.jobs.job(text)
    elsewhere = Jobs().job(name="elsewhere")(value)
    chain = await harness.client.start(first.bind(1))
    async with harness.client.completing(chain) as current:
        await current.continue_with(elsewhere.bind(2))

    with pytest.raises(TypeError, match="value must continue with a job type that returns int; text returns str"):
        async with harness.client.completing(chain) as current:
            await current.continue_with(other.bind(3))

    assert (await harness.now(chain)).type == "elsewhere"


async def test_a_chain_whose_current_job_has_another_type_than_named_is_refused(harness: ClientHarness) -> None:
    first, second = harness.jobs.job(value), harness.jobs.job(name="second")(value)
    chain = await harness.client.start(first.bind(1))

    with pytest.raises(WrongJobType, match="is of type 'value', not 'second'") as refused:
        async with harness.client.completing(chain, type=second):
            raise AssertionError("it was let in")

    assert (refused.value.chain_id, refused.value.type, refused.value.wanted) == (chain.id, "value", "second")
    async with harness.client.completing(chain, type=first) as current:
        await current.continue_with(second.bind(2))
    with pytest.raises(WrongJobType):
        async with harness.client.completing(chain.id, type="value"):
            raise AssertionError("it was let in")
    async with harness.client.completing(chain.id, type="second") as current:
        await current.output(5)
    assert await harness.client.wait(chain, timeout=60) == 5


async def test_a_named_type_is_compared_if_this_client_does_not_know_the_current_one(harness: ClientHarness) -> None:
    first, elsewhere = harness.jobs.job(value), Jobs().job(name="elsewhere")(value)
    chain = await harness.client.start(elsewhere.bind(1))

    with pytest.raises(WrongJobType, match="is of type 'elsewhere', not 'value'"):
        async with harness.client.completing(chain.id, type=first):
            raise AssertionError("it was let in")

    async with harness.client.completing(chain.id, type=elsewhere) as current:
        await current.output(3)
    assert (await harness.now(chain)).output == 3
