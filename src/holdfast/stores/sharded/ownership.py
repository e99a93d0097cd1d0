"""Checks an operation that one shard performs: everything in it must belong on this shard. Pure: no clock, no I/O."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from msgspec.structs import replace

from holdfast.core.lifecycle import NewJob, Settlement
from holdfast.engine.operations import ChangeSchedule, Complete, Completion, Operation, PreviewStart, Settle, Start
from holdfast.stores.sharded.placement import stamp
from holdfast.stores.sharded.routing import Routing

R = TypeVar("R")


def owned(routing: Routing, shard: str, operation: Operation[R]) -> Operation[R]:
    """The operation, with the name of the shard in the details of the jobs that it creates.

    ValueError for a job with a key, a chosen id or a blocker of another shard.
    """
    match cast("Operation[Any]", operation):
        case Start(jobs=jobs) | PreviewStart(jobs=jobs):
            return _with(operation, jobs=stamp(routing, shard, jobs))
        case ChangeSchedule(starts=starts) if starts:
            return _with(operation, starts=stamp(routing, shard, starts))
        case Settle(settlements=settlements) if any(each.starts or each.continuation for each in settlements):
            return _with(operation, settlements=tuple(_settlement(routing, shard, each) for each in settlements))
        case Complete(completions=completions, starts=starts):
            ends = tuple(_completion(routing, shard, each) for each in completions)
            return _with(operation, completions=ends, starts=stamp(routing, shard, starts))
        case _:
            return operation


def _settlement(routing: Routing, shard: str, settlement: Settlement) -> Settlement:
    return replace(
        settlement,
        starts=stamp(routing, shard, settlement.starts),
        continuation=_continuation(routing, shard, settlement.continuation),
    )


def _completion(routing: Routing, shard: str, completion: Completion) -> Completion:
    return replace(completion, continuation=_continuation(routing, shard, completion.continuation))


def _continuation(routing: Routing, shard: str, job: NewJob | None) -> NewJob | None:
    return None if job is None else stamp(routing, shard, (job,))[0]


def _with(operation: Operation[R], **changes: Any) -> Operation[R]:
    return replace(operation, **changes)
