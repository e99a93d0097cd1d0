"""Measure what operations cost the server of each store: `python -m benchmarks.fleet.measure`.

PostgreSQL and Redis: the CPU time of all processes of the server, which other load on the machine hardly changes.
SQLite has no server: the time in which an operation holds the only write lock, disk included.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from benchmarks.fleet.costs import StoreCosts, VerbCost, save
from benchmarks.machine import commit, machine
from holdfast.core.record import Record
from holdfast.engine.operations import ClaimJobs, NextDue, Reap, Settle, Start, TypeTerms
from holdfast.engine.store import Store
from holdfast.stores.address import open_store
from holdfast.testing.builders import completed, new_job
from tests.servers.postgres import running_postgres
from tests.servers.redis import run_redis

REPEAT = 6000
BATCH = 20
PARTS = 30
TYPE = "resize"
TERMS = (TypeTerms(TYPE, 60_000_000, 25),)
_TICKS = os.sysconf("SC_CLK_TCK")


class Measured(NamedTuple):
    """A store, the clock of its server, and whether the server uses one core."""

    name: str
    address: str
    seconds: Callable[[], float]
    single: bool


@contextmanager
def stores() -> Generator[list[Measured]]:
    """Private servers with their disk settings as in production."""
    with (
        running_postgres(fsync="on", shared_buffers="256MB") as postgres,
        run_redis(appendonly="yes", appendfsync="everysec") as redis,
        tempfile.TemporaryDirectory() as folder,
    ):
        assert postgres.pid is not None
        assert redis.pid is not None
        yield [
            Measured("postgres", postgres.address(notify="off"), server_seconds(postgres.pid), False),
            Measured("redis", redis.address(), server_seconds(redis.pid), True),
            Measured("sqlite", f"sqlite:///{folder}/jobs.db", time.perf_counter, True),
        ]


def measure(target: Measured) -> StoreCosts:
    store = open_store(target.address)
    store.open_sync()
    store.migrate_sync()
    try:
        _start(store, 200)
        _settle(store, _claim(store, BATCH))  # every statement is prepared
        empty_type = (TypeTerms("absent", 60_000_000, 25),)
        start = _cost(target, lambda: _start(store, 1), REPEAT)

        def claim_nothing() -> None:
            store.perform_sync(ClaimJobs(empty_type, 10, "worker", os.urandom(8).hex()))

        empty = _cost(target, claim_nothing, REPEAT)
        wall = _cost(target._replace(seconds=time.perf_counter), claim_nothing, REPEAT)
        other = _cost(target, lambda: _other(store), REPEAT) / 2
        _start(store, REPEAT * (BATCH + 1))
        singles: list[list[Record]] = []
        claim_one = _cost(target, lambda: singles.append(_claim(store, 1)), REPEAT)
        settle_one = _cost(target, lambda: _settle(store, singles.pop()), REPEAT)
        claimed: list[list[Record]] = []
        claim = _cost(target, lambda: claimed.append(_claim(store, BATCH)), REPEAT)
        settle = _cost(target, lambda: _settle(store, claimed.pop()), REPEAT)
    finally:
        store.close_sync()
    claim_job, settle_job = (claim - claim_one) / (BATCH - 1), (settle - settle_one) / (BATCH - 1)
    facts = machine()
    return StoreCosts(
        store=target.name,
        machine=f"{facts['processor']}, {facts['cores']} cores, {facts['measured']}, {commit()}",
        round_trip=max(wall - empty, 0.0),
        start=VerbCost(start),
        claim=VerbCost(empty, max(claim_job, 0.0)),
        settle=VerbCost(max(settle_one - settle_job, 0.0), max(settle_job, 0.0)),
        other=VerbCost(other),
        single=target.single,
    )


def _cost(target: Measured, call: Callable[[], object], repeat: int) -> float:
    """Seconds of the server for one call. Of a wall clock, the best part: other load can only lengthen it."""
    parts = PARTS if target.seconds is time.perf_counter else 1
    taken: list[float] = []
    for _ in range(parts):
        begun = target.seconds()
        for _ in range(repeat // parts):
            call()
        taken.append((target.seconds() - begun) / (repeat // parts))
    return min(taken)


def _start(store: Store, count: int) -> None:
    for first in range(0, count, 100):
        store.perform_sync(Start(tuple(new_job(TYPE) for _ in range(min(100, count - first)))))


def _claim(store: Store, limit: int) -> list[Record]:
    return store.perform_sync(ClaimJobs(TERMS, limit, "worker", os.urandom(8).hex()))


def _settle(store: Store, records: list[Record]) -> None:
    store.perform_sync(Settle(tuple(completed(record) for record in records)))


def _other(store: Store) -> None:
    """Two of the operations that an idle worker repeats."""
    store.perform_sync(NextDue((TYPE,)))
    store.perform_sync(Reap((TYPE,), (), 100))


def server_seconds(pid: int) -> Callable[[], float]:
    """The CPU seconds of a process and of its children, also of children that have ended."""

    def seconds() -> float:
        while True:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            # A child that ends now is counted by its parent: read again.
            with suppress(FileNotFoundError, ProcessLookupError):
                return sum(_used(each, ended=each == str(pid)) for each in (str(pid), *children))

    return seconds


def _used(pid: str, *, ended: bool) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if ended else 13])) / _TICKS


def main() -> None:
    with stores() as targets:
        costs = {target.name: measure(target) for target in targets}
    save(costs)
    for each in costs.values():
        print(each)


if __name__ == "__main__":
    main()
