"""What an operation costs the server of a store: measured by `benchmarks.fleet.measure`, read by the simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from holdfast.engine.operations import ClaimJobs, Operation, Settle, Start

FILE = Path(__file__).with_name("costs.json")


class VerbCost(msgspec.Struct, frozen=True):
    """Seconds of CPU of the server: for a call, and for each job in it."""

    call: float
    job: float = 0.0


class StoreCosts(msgspec.Struct, frozen=True):
    """The costs of one store."""

    store: str
    machine: str
    round_trip: float
    """Seconds of a call that costs the server nothing: the network, and the client's own work."""
    start: VerbCost
    claim: VerbCost
    """`call` is an empty claim."""
    settle: VerbCost
    other: VerbCost
    """Every other operation of a worker: reaping, renewing, reporting, the next due time."""
    single: bool = False
    """Whether the server uses one core only, as Redis and SQLite's write lock do."""

    def seconds(self, operation: Operation[Any], jobs: int) -> float:
        """What an operation with this number of jobs costs."""
        match operation:
            case Start():
                cost = self.start
            case ClaimJobs():
                cost = self.claim
            case Settle():
                cost = self.settle
            case _:
                cost = self.other
        return cost.call + cost.job * jobs

    def per_job(self, batch: int) -> float:
        """Seconds of the server for one job that is started alone, and claimed and settled in batches of this size."""
        together = self.claim.call + self.settle.call
        return self.start.call + self.start.job + self.claim.job + self.settle.job + together / batch


def load() -> dict[str, StoreCosts]:
    """The measured costs by store."""
    return msgspec.json.decode(FILE.read_bytes(), type=dict[str, StoreCosts])


def save(costs: dict[str, StoreCosts]) -> None:
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(costs), indent=1) + b"\n")
