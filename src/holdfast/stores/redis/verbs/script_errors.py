"""How answers are read: a word first where a script may refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.core.record import Record
from holdfast.errors import (
    AlreadyCompleted,
    ChainNotFound,
    Conflict,
    DependencyCycle,
    HoldfastError,
    JobNotFound,
    NotPending,
    StillReferenced,
)
from holdfast.stores.redis.verbs import decode
from holdfast.stores.redis.verbs.decode import Answer


def accepted(reply: list[Any], *, wanted: str = "") -> Answer:
    """An answer whose first value is `ok`, after that; anything else is raised."""
    if reply[0] != b"ok":
        raise refusal(reply, wanted=wanted)
    answer = Answer(reply)
    answer.next()
    return answer


def refusal(reply: list[Any], *, wanted: str = "") -> HoldfastError:
    """The error that a script's word stands for."""
    word, *values = [value.decode() for value in reply]
    match word:
        case "ChainNotFound":
            return ChainNotFound(values[0])
        case "JobNotFound":
            return JobNotFound(values[0])
        case "AlreadyCompleted":
            return AlreadyCompleted(values[0])
        case "NotPending":
            return NotPending(values[0], decode.STATUSES[values[1]], wanted)
        case "BlockerDeleted":
            return NotPending.blocker_deleted(values[0], decode.STATUSES[values[1]])
        case "KeyTaken":
            return NotPending.key_taken(values[0], decode.STATUSES[values[1]], values[2])
        case "DependencyCycle":
            return DependencyCycle(values)
        case "StillReferenced":
            return StillReferenced(list(zip(values[::2], values[1::2], strict=True)))
        case _:
            key, type = values
            return Conflict(f"key {key!r} of {type!r} was started or finished by another at the same time")


def existing(answer: Answer) -> Iterator[Record]:
    """The jobs that are left in an answer, without those that do not exist."""
    return (job for job in answer.jobs() if job is not None)


def pairs(values: list[bytes]) -> tuple[tuple[str, str], ...]:
    """A flat list, two by two."""
    names = [value.decode() for value in values]
    return tuple(zip(names[::2], names[1::2], strict=True))
