"""New chains on a sharded store: their shards are chosen before they are started."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.client.new_jobs import new_chain
from holdfast.core.details import JobDetails
from holdfast.core.lifecycle import NewJob
from holdfast.engine.operations import Place
from holdfast.engine.procedures import Procedure
from holdfast.registry.jobs import AnyBound


def placed_chains(bounds: Sequence[AnyBound], sent: JobDetails) -> Procedure[tuple[NewJob, ...]]:
    """The first jobs of new chains, each with the id of its shard."""
    wanted = [bound.start_options.shard for bound in bounds]
    new = tuple(
        new_chain(bound, sent if shard is None else replace(sent, shard=shard))
        for bound, shard in zip(bounds, wanted, strict=True)
    )
    placed: tuple[NewJob, ...] = yield Place(new)
    return placed
