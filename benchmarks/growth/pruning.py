"""Prune expired chains beside many kept ones on PostgreSQL: `python -m benchmarks.growth.pruning --kept 10000000`.

Reports the rate, the volume of the log (WAL), the size of the table, and the duration of claims before, meanwhile and
afterwards.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from contextlib import closing
from statistics import median

import psycopg

from benchmarks.fleet.measure import server_seconds
from benchmarks.growth.copying import tidy
from benchmarks.growth.filling import FINISHED, PENDING, claim, finish, start
from holdfast.engine.operations import Prune, Settle
from holdfast.engine.store import Store
from holdfast.stores.address import open_store
from holdfast.testing.builders import completed
from holdfast.worker.pruner import BATCH
from tests.servers.postgres import running_postgres

CLAIMED = 10
BACKLOG = 100_000
"""Pending jobs."""
YEAR = 365 * 86_400.0
QUIET_SECONDS = 5.0
"""How long claims are measured before and after."""


class ClaimTimes:
    """Claims and settles in a thread, and keeps the durations of the claims."""

    def __init__(self, store: Store) -> None:
        self.seconds: list[float] = []
        self._store = store
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def take(self) -> list[float]:
        taken, self.seconds = self.seconds, []
        return taken

    def _run(self) -> None:
        while not self._stop.wait(0.005):
            begun = time.perf_counter()
            records = self._store.perform_sync(claim(PENDING, CLAIMED))
            self.seconds.append(time.perf_counter() - begun)
            self._store.perform_sync(Settle(tuple(completed(record) for record in records)))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth.pruning", description=__doc__)
    parser.add_argument("--chains", type=int, default=1_000_000, help="expired chains")
    parser.add_argument("--kept", type=int, default=10_000_000, help="completed chains that are not expired")
    parser.add_argument(
        "--seconds", type=float, default=3600.0, help="stop pruning after this time, half of it beside claims"
    )
    options = parser.parse_args()
    with running_postgres(fsync="on", shared_buffers="512MB", max_wal_size="4GB") as server:
        store = open_store(server.address(notify="off"))
        store.open_sync()
        store.migrate_sync()
        with closing(server.connect()) as connection, closing(_Closed(store)):
            finish(store, "kept", options.kept, keep=YEAR)
            finish(store, FINISHED, options.chains)
            start(store, PENDING, BACKLOG)
            tidy(store)
            assert server.pid is not None
            measure(store, connection, "holdfast", server_seconds(server.pid), options.seconds)


def measure(
    store: Store, connection: psycopg.Connection, schema: str, used: Callable[[], float], seconds: float
) -> None:
    """Prune everything that is expired, the first half of the time beside claims, and print the figures."""
    print(f"filled: {_size(connection, schema)}", flush=True)
    claims = ClaimTimes(store)
    time.sleep(QUIET_SECONDS)
    before = claims.take()
    _prune(store, connection, used, seconds / 2, "beside claims")
    meanwhile = claims.take()
    time.sleep(QUIET_SECONDS)
    claims.stop()
    print(f"claims of {CLAIMED}: before {_times(before)}, meanwhile {_times(meanwhile)}, after {_times(claims.take())}")
    print(f"pruned: {_size(connection, schema)}", flush=True)
    _prune(store, connection, used, seconds / 2, "alone")
    print(f"pruned: {_size(connection, schema)}")
    connection.execute(f"vacuum {schema}.job".encode())
    print(f"after a vacuum: {_size(connection, schema)}", flush=True)


def _prune(store: Store, connection: psycopg.Connection, used: Callable[[], float], seconds: float, how: str) -> None:
    log, cpu, begun, pruned, calls = _log_position(connection), used(), time.perf_counter(), 0, list[float]()
    while (sent := time.perf_counter()) < begun + seconds and (removed := len(store.perform_sync(Prune(BATCH)))):
        pruned += removed
        calls.append(time.perf_counter() - sent)
    taken, spent = time.perf_counter() - begun, used() - cpu
    written = _log_position(connection) - log
    tenth = max(1, len(calls) // 10)
    print(f"{how}: {pruned:,} chains in {taken:.1f} s, {pruned / taken:,.0f} per second, {BATCH} in a call")
    print(f"{how}: CPU of the server {spent / pruned * 1e6:.0f} us per chain")
    print(f"{how}: log {written / 1e6:,.0f} MB, {written / pruned:,.0f} bytes per chain")
    print(f"{how}: first tenth {_times(calls[:tenth])}, last tenth {_times(calls[-tenth:])}", flush=True)


class _Closed:
    def __init__(self, store: Store) -> None:
        self.close = store.close_sync


def _times(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    high = ordered[int(len(ordered) * 0.99)]
    return f"median {median(ordered) * 1000:.2f} ms, 99 % below {high * 1000:.2f} ms ({len(ordered)} calls)"


def _log_position(connection: psycopg.Connection) -> int:
    row = connection.execute("select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint").fetchone()
    assert row is not None
    return int(row[0])


def _size(connection: psycopg.Connection, schema: str) -> str:
    row = connection.execute(
        "select pg_size_pretty(pg_table_size(relid)), pg_size_pretty(pg_indexes_size(relid)), n_dead_tup"
        " from pg_stat_user_tables where relname = 'job' and schemaname = %s",
        (schema,),
    ).fetchone()
    assert row is not None
    return f"table {row[0]}, indexes {row[1]}, {row[2]:,} dead rows"


if __name__ == "__main__":
    main()
