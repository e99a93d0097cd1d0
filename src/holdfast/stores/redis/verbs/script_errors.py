"""Turns the error replies of the scripts into exceptions. The first value of a reply is `ok` or an error code."""

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
    StepNotFound,
    StillReferenced,
    WrongBlockers,
)
from holdfast.stores.redis.verbs import decode
from holdfast.stores.redis.verbs.decode import ReplyReader


def accepted(reply: list[Any], *, wanted: str = "") -> ReplyReader:
    """A reader of the values after `ok`. Any other code is raised as an exception."""
    if reply[0] != b"ok":
        raise refusal(reply, wanted=wanted)
    reader = ReplyReader(reply)
    reader.next()
    return reader


def refusal(reply: list[Any], *, wanted: str = "") -> HoldfastError:
    """The exception for the error code that a script replied."""
    code, *values = [value.decode() for value in reply]
    match code:
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
        case "NoneFailed":
            return NotPending.none_failed(values[0], decode.STATUSES[values[1]])
        case "KeyTaken":
            return NotPending.key_taken(values[0], decode.STATUSES[values[1]], values[2])
        case "DependencyCycle":
            return DependencyCycle(values)
        case "WrongBlockers":
            return WrongBlockers.of_another_type(*values)
        case "StepNotFound":
            return StepNotFound(values[0], values[1])
        case "StillReferenced":
            return StillReferenced(list(zip(values[::2], values[1::2], strict=True)))
        case _:
            key, type = values
            return Conflict(f"key {key!r} of {type!r} was started or finished by another caller at the same time")


def existing(reader: ReplyReader) -> Iterator[Record]:
    """The remaining jobs of a reply, without those that do not exist."""
    return (job for job in reader.jobs() if job is not None)


def pairs(values: list[bytes]) -> tuple[tuple[str, str], ...]:
    """A flat list as pairs."""
    names = [value.decode() for value in values]
    return tuple(zip(names[::2], names[1::2], strict=True))
