"""The plan of each operation on a sharded store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.engine.operations import ClaimJobs, NextDue, Operation, Place, Prune, Reap
from holdfast.stores.sharded.all_shard_changes import change_all
from holdfast.stores.sharded.all_shard_reads import read_all
from holdfast.stores.sharded.backlogs import Backlogs
from holdfast.stores.sharded.batches import split
from holdfast.stores.sharded.plan import Plan
from holdfast.stores.sharded.routing import Routing
from holdfast.stores.sharded.shares import Shares


class Plans:
    """Makes plans. It remembers what the next one needs: which shard is first, and the backlogs of the shards."""

    def __init__(self, routing: Routing) -> None:
        self._routing = routing
        self._shares = Shares()
        self._backlogs = Backlogs()

    def of(self, operation: Operation[Any], up: Sequence[str]) -> Plan[Any]:
        """The plan of an operation that is not for one shard. `up` are the shards that answered lately."""
        match operation:
            case ClaimJobs():
                return self._shares.claim(operation, up)
            case Reap():
                return self._shares.reap(operation, up)
            case Prune():
                return self._shares.prune(operation, up)
            case NextDue():
                return self._shares.next_due(operation, up, complete=len(up) == len(self._routing.names))
            case Place():
                return self._backlogs.place(self._routing, operation, up)
            case _ if (plan := split(self._routing, operation)) is not None:
                return plan
            case _ if operation.writes:
                return change_all(self._routing, operation)
            case _:
                return read_all(self._routing, operation, up)
