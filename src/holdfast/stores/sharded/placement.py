"""Chooses the shards of new chains, and refuses chains that belong on two shards. Pure: no clock, no I/O."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from holdfast.core.details import read_details, with_shard
from holdfast.core.ids import SHARD_END
from holdfast.core.lifecycle import NewJob
from holdfast.errors import WrongShard
from holdfast.stores.sharded.routing import Routing

UNKNOWN_LOAD: Final = 1 << 62
"""The backlog of a shard that does not answer: new chains that may go anywhere avoid it."""


def place(
    routing: Routing, jobs: Iterable[NewJob], backlogs: Mapping[str, int], tx: Collection[str] | None = None
) -> tuple[NewJob, ...]:
    """The jobs with the ids of their shards. `tx` are the shards that the caller's transaction can write to."""
    jobs = tuple(jobs)
    started = {job.id: _decided(routing, job) for job in jobs}
    free: str | None = None
    placed: list[NewJob] = []
    for job in jobs:
        decided = dict(started[job.id])
        for blocker in job.after:
            known = started.get(blocker)
            place_of = routing.of_id(blocker) if known is None else next(iter(known.values()), None)
            if place_of is not None:
                decided[f"the chain {blocker} in after"] = place_of
        if tx is not None:
            decided = _within(job, decided, tx)
        shard = _agreed(job, decided)
        if shard is None:
            free = free or _emptier(tx or routing.names, backlogs)
            shard = free
        started[job.id] = {f"the id {job.id}": shard}
        placed.append(_on(job, shard))
    renamed = {old.id: new.id for old, new in zip(jobs, placed, strict=True)}
    return tuple(
        replace(job, after=tuple(renamed.get(id, id) for id in job.after)) if job.after else job for job in placed
    )


def stamp(routing: Routing, shard: str, jobs: tuple[NewJob, ...]) -> tuple[NewJob, ...]:
    """The jobs with the name of this shard in their details. WrongShard for a job that belongs on another shard."""
    for job in jobs:
        decided = {"the transaction or chain that starts it": shard}
        if job.index == 0 and job.key is not None:
            decided[f"its key {job.key!r}"] = routing.of_key(job.type, job.key)
        for blocker in job.after:
            decided[f"the chain {blocker} in after"] = routing.of_id(blocker)
        if job.index == 0:
            decided[f"its id {job.id!r}"] = routing.of_id(job.id)
        _agreed(job, decided)
    return tuple(replace(job, details=with_shard(job.details, shard)) for job in jobs)


def _decided(routing: Routing, job: NewJob) -> dict[str, str]:
    """The options of a job that decide its shard, each with the shard: `shard=`, the key, a chosen id."""
    decided: dict[str, str] = {}
    if job.details is not None and (wanted := read_details(job.details).shard) is not None:
        decided[f"shard={wanted!r}"] = routing.check_known(wanted)
    if job.key is not None:
        decided[f"its key {job.key!r}"] = routing.of_key(job.type, job.key)
    if job.chosen:
        decided[f"its id {job.id!r}"] = routing.of_id(job.id)
    return decided


def _within(job: NewJob, decided: dict[str, str], tx: Collection[str]) -> dict[str, str]:
    if len(tx) == 1:
        return {"the transaction": next(iter(tx)), **decided}
    for by, shard in decided.items():
        if shard not in tx:
            raise WrongShard(f"{job.type}: {by} belongs on the shard {shard}, and the transaction is on another one")
    return decided


def _agreed(job: NewJob, decided: Mapping[str, str]) -> str | None:
    """The shard that all options decide; None if there are none. WrongShard if they decide different shards."""
    if len({*decided.values()}) > 1:
        named = "; ".join(f"{by} belongs on {shard}" for by, shard in decided.items())
        raise WrongShard(f"{job.type}: a chain lies on one shard, with its blockers and all chains of its key: {named}")
    return next(iter(decided.values()), None)


def _emptier(names: Collection[str], backlogs: Mapping[str, int]) -> str:
    two = random.sample(sorted(names), min(2, len(names)))
    return min(two, key=lambda name: backlogs.get(name, 0))


def _on(job: NewJob, shard: str) -> NewJob:
    details = with_shard(job.details, shard)
    if job.chosen or job.id.startswith(f"{shard}{SHARD_END}"):
        return replace(job, details=details)
    id = f"{shard}{SHARD_END}{job.id}"
    return replace(job, id=id, chain_id=id, details=details)
