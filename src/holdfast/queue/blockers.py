"""The jobs and chains that a job of a named queue waits for, found by their ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from holdfast.client.references import chain_id
from holdfast.core.job import Chain, Job
from holdfast.core.lifecycle import NewJob
from holdfast.core.record import ChainRecord
from holdfast.engine.operations import Filter, GetChains, ListChains
from holdfast.engine.procedures import Procedure
from holdfast.errors import DependencyCycle, JobNotFound
from holdfast.queue.options import After

Blockers = tuple[Chain[Any] | Job | str, ...]


def listed(after: After) -> Blockers:
    """What `after=` was given. TypeError for one id where there should be a list."""
    if isinstance(after, str | Chain | Job):
        raise TypeError("after takes a list of ids or chains: put a single one into a list")
    return tuple(after)


def waiting(type: str, jobs: Sequence[NewJob], after: Blockers) -> Procedure[list[NewJob]]:
    """These jobs of a queue, each of which waits for all of these blockers.

    Raises DependencyCycle for a job that names its own id, and JobNotFound for an id that the store does not have.
    """
    for job in jobs:
        if job.key is not None and job.key in after:
            raise DependencyCycle([job.key])
    chain_ids: list[str] = []
    for blocker in after:
        found = yield from _chain_id(type, blocker)
        chain_ids.append(found)
    blockers = tuple(dict.fromkeys(chain_ids))
    return [replace(job, after=blockers) for job in jobs]


def _chain_id(type: str, blocker: Chain[Any] | Job | str) -> Procedure[str]:
    named = chain_id(blocker)
    if not isinstance(blocker, str):
        return named
    chains: list[ChainRecord] = yield ListChains(Filter(chain_types=(type,), key=named, kept=True), 1)
    if not chains:
        (chain,) = yield GetChains((named,))
        if chain is None:
            raise JobNotFound(named)
        return named
    return chains[0].first.id
