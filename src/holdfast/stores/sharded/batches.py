"""Batches that are split by the shards of their items. The results have the order of the batch.

Each part is atomic on its shard. The parts of several shards are not atomic together, so everything that can be checked
is checked before the first write.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from msgspec.structs import replace

from holdfast.core.ids import SHARD_END
from holdfast.engine.operations import (
    CancelChains,
    Delete,
    GetChains,
    GetJobs,
    GetStarted,
    Operation,
    Renew,
    SaveLogs,
    Start,
)
from holdfast.errors import ChainNotFound, JobNotFound
from holdfast.stores.sharded.plan import Answers, Plan, all_of, in_order
from holdfast.stores.sharded.routing import Routing

_Item = Any


class _Batch(NamedTuple):
    """The field with the items of an operation, and the id of an item."""

    field: str
    id_of: Callable[[_Item], str]


def _itself(item: _Item) -> str:
    return item  # type: ignore[no-any-return]


def _claimed(item: _Item) -> str:
    return item.claim.job_id  # type: ignore[no-any-return]


def _id(item: _Item) -> str:
    return item.id  # type: ignore[no-any-return]


def _first(item: _Item) -> str:
    return item[0]  # type: ignore[no-any-return]


_BATCHES: dict[str, _Batch] = {
    "settle": _Batch("settlements", _claimed),
    "save_steps": _Batch("checkpoints", _claimed),
    "preview": _Batch("jobs", _id),
    "get_chains": _Batch("ids", _itself),
    "get_jobs": _Batch("ids", _itself),
    "get_blockers": _Batch("job_ids", _itself),
    "get_steps": _Batch("job_ids", _itself),
    "get_messages": _Batch("names", _first),
    "keep": _Batch("chain_ids", _itself),
    "retry": _Batch("job_ids", _itself),
    "run_now": _Batch("job_ids", _itself),
    "skip": _Batch("job_ids", _itself),
    "cancel": _Batch("chain_ids", _itself),
}
"""Operations whose result has one item for each item of the batch."""

_EXISTING = {"retry", "run_now", "skip"}
"""They refuse the whole batch for an unknown job."""


def split(routing: Routing, operation: Operation[Any]) -> Plan[Any] | None:
    """The plan of a batch; None if the operation is not one."""
    match operation:
        case Start():
            return _start(routing, operation)
        case Renew():
            return _renew(routing, operation)
        case SaveLogs():
            return _save_logs(routing, operation)
        case Delete():
            return _delete(routing, operation)
        case GetStarted():
            return _get_started(routing, operation)
        case _:
            batch = _BATCHES.get(operation.verb)
            return None if batch is None else _each(routing, operation, batch)


def ids_of(operation: Operation[Any]) -> list[str]:
    """The ids of the items of a batch; empty if the operation is not one."""
    match operation:
        case Start(jobs=jobs):
            return [job.id for job in jobs]
        case Delete(chain_ids=ids):
            return [*ids]
        case _:
            batch = _BATCHES.get(operation.verb)
            return [] if batch is None else [batch.id_of(item) for item in getattr(operation, batch.field)]


def parts_of(routing: Routing, items: Sequence[_Item], id_of: Callable[[_Item], str]) -> dict[str, list[int]]:
    """The positions of the items by shard."""
    parts: dict[str, list[int]] = {}
    for position, item in enumerate(items):
        parts.setdefault(routing.of_id(id_of(item)), []).append(position)
    return parts


def _operations(operation: Operation[Any], field: str, parts: dict[str, list[int]]) -> dict[str, Operation[Any]]:
    items: Sequence[_Item] = getattr(operation, field)
    return {
        name: replace(operation, **{field: tuple([items[position] for position in positions])})
        for name, positions in parts.items()
    }


def _each(routing: Routing, operation: Operation[Any], batch: _Batch) -> Plan[list[Any]]:
    items: Sequence[_Item] = getattr(operation, batch.field)
    parts = parts_of(routing, items, batch.id_of)
    if len(parts) > 1:
        yield from _check_existence(routing, operation)
    answers = yield from all_of(_operations(operation, batch.field, parts))
    return in_order(parts, answers, len(items))


def _check_existence(routing: Routing, operation: Operation[Any]) -> Plan[None]:
    """Refuse a batch over several shards before anything is written, if one of its items does not exist."""
    found: list[Any]
    if isinstance(operation, CancelChains):
        found = yield from _each(routing, GetChains(operation.chain_ids), _BATCHES["get_chains"])
        for id, chain in zip(operation.chain_ids, found, strict=True):
            if chain is None:
                raise ChainNotFound(id)
    elif operation.verb in _EXISTING:
        job_ids: tuple[str, ...] = getattr(operation, _BATCHES[operation.verb].field)
        found = yield from _each(routing, GetJobs(job_ids), _BATCHES["get_jobs"])
        for id, job in zip(job_ids, found, strict=True):
            if job is None:
                raise JobNotFound(id)


def _start(routing: Routing, operation: Start) -> Plan[list[Any]]:
    """One shard after another, so that an error says how many chains exist."""
    parts = parts_of(routing, operation.jobs, lambda job: job.id)
    answers: Answers = {}
    for name, part in _operations(operation, "jobs", parts).items():
        try:
            answers.update((yield from all_of({name: part})))
        except Exception as error:
            if answers:
                error.add_note(f"The chains on these shards were started: {', '.join(sorted(answers))}.")
            raise
    return in_order(parts, answers, len(operation.jobs))


def _renew(routing: Routing, operation: Renew) -> Plan[dict[Any, Any]]:
    parts = parts_of(routing, operation.claims, lambda each: each[0].job_id)
    answers = yield from all_of(_operations(operation, "claims", parts))
    return {claim: reason for lost in answers.values() for claim, reason in lost.items()}


def _save_logs(routing: Routing, operation: SaveLogs) -> Plan[None]:
    parts = parts_of(routing, operation.logs, lambda each: each.claim.job_id)
    yield from all_of(_operations(operation, "logs", parts))


def _delete(routing: Routing, operation: Delete) -> Plan[list[str]]:
    parts = parts_of(routing, operation.chain_ids, _itself)
    answers = yield from all_of(_operations(operation, "chain_ids", parts))
    return [id for name in parts for id in answers[name]]


def _get_started(routing: Routing, operation: GetStarted) -> Plan[list[str]]:
    """The chains of each shard, oldest first; between shards by the time in generated ids."""
    parts = parts_of(routing, operation.job_ids, _itself)
    answers = yield from all_of(_operations(operation, "job_ids", parts))
    if len(answers) == 1:
        return next(iter(answers.values()))
    found: Iterator[str] = heapq.merge(*answers.values(), key=lambda id: id.partition(SHARD_END)[2])
    return [*islice(found, operation.limit)]
