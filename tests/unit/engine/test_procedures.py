"""Procedures, run blocking and async."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.engine import procedures
from holdfast.engine.operations import GetJobs, LockChain, Operation
from holdfast.errors import ChainNotFound


def one_after_another() -> procedures.Procedure[list[str]]:
    first: str = yield GetJobs(("a",))
    second: str = yield GetJobs((first,))
    return [first, second]


def nothing() -> procedures.Procedure[str]:
    return "at once"
    yield GetJobs(())


def recovering() -> procedures.Procedure[str]:
    try:
        yield LockChain("gone")
    except ChainNotFound as error:
        return str((yield GetJobs((f"instead of {error.chain_id}",))))
    return "never"


def answer(operation: Operation[Any]) -> str:
    match operation:
        case GetJobs(ids=(id, *_)):
            return f"<{id}>"
        case LockChain(chain_id=chain_id):
            raise ChainNotFound(chain_id)
        case _:
            raise AssertionError(operation)


async def answer_async(operation: Operation[Any]) -> str:
    return answer(operation)


async def test_each_result_is_sent_to_the_yield_of_its_operation() -> None:
    assert procedures.run_sync(answer, one_after_another()) == ["<a>", "<<a>>"]
    assert await procedures.run(answer_async, one_after_another()) == ["<a>", "<<a>>"]


async def test_a_procedure_without_operations_returns_at_once() -> None:
    assert procedures.run_sync(answer, nothing()) == "at once"
    assert await procedures.run(answer_async, nothing()) == "at once"


async def test_an_error_is_raised_where_the_operation_was_yielded() -> None:
    assert procedures.run_sync(answer, recovering()) == "<instead of gone>"
    assert await procedures.run(answer_async, recovering()) == "<instead of gone>"


async def test_an_error_that_the_procedure_does_not_catch_reaches_the_caller() -> None:
    def failing() -> procedures.Procedure[None]:
        yield LockChain("gone")

    with pytest.raises(ChainNotFound):
        procedures.run_sync(answer, failing())
    with pytest.raises(ChainNotFound):
        await procedures.run(answer_async, failing())
