"""Plans: how an operation becomes operations of shards. A plan is written once, and runs blocking or async.

A plan yields operations by shard. They are performed at the same time, in blocking code one after another. It receives
their answers by shard; the exception of a shard is its answer.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, TypeVar

from holdfast.engine.operations import Operation
from holdfast.errors import StoreUnavailable

R = TypeVar("R")

Answers = dict[str, Any]
Plan = Generator[Mapping[str, Operation[Any]], Answers, R]


def all_of(operations: Mapping[str, Operation[Any]]) -> Plan[Answers]:
    """The answers of all these shards. If one raises, its error is raised, with a note about the others."""
    answers = yield operations
    failed = {name: answer for name, answer in answers.items() if isinstance(answer, Exception)}
    if failed:
        # The error of a refusal is more useful to the caller than the error of an outage.
        error = next((each for each in failed.values() if not isinstance(each, StoreUnavailable)), None)
        error = error or next(iter(failed.values()))
        done = sorted(answers.keys() - failed.keys())
        if done and any(operation.writes for operation in operations.values()):
            error.add_note(f"The same call was performed on these shards: {', '.join(done)}.")
        raise error
    return answers


def available(operations: Mapping[str, Operation[Any]]) -> Plan[Answers]:
    """The answers of the shards that answer. Raises StoreUnavailable only if none does."""
    answers = yield operations
    found = {name: answer for name, answer in answers.items() if not isinstance(answer, StoreUnavailable)}
    for answer in found.values():
        if isinstance(answer, Exception):
            raise answer
    if answers and not found:
        raise next(iter(answers.values()))
    return found


def in_order(parts: Mapping[str, Sequence[int]], answers: Mapping[str, Sequence[R]], length: int) -> list[R]:
    """The answers of the parts of a batch, in the order of the batch. `parts` are the positions by shard."""
    merged: dict[int, R] = {}
    for name, positions in parts.items():
        merged.update(zip(positions, answers[name], strict=True))
    return [merged[position] for position in range(length)]
