"""The operation that chooses the shards of new chains."""

from __future__ import annotations

from typing import ClassVar

from holdfast.core.lifecycle import NewJob
from holdfast.engine.operations.operation import Operation


class Place(Operation[tuple[NewJob, ...]], frozen=True):
    """Choose the shard of each new chain. Returns the jobs, in order; generated ids begin with the shard's name.

    A job whose details name a shard goes there. Otherwise the shard of the transaction decides, then the key, a chosen
    id and the blockers. If none of these decides, two shards are chosen at random, and the one with fewer due jobs is
    used, for all such jobs of the operation. Raises ValueError if two of these name different shards.

    Only a sharded store performs it, and a transaction that joined one. Nothing is written.
    """

    verb: ClassVar = "place"
    writes: ClassVar = False
    jobs: tuple[NewJob, ...]
