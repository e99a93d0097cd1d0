"""Prune many expired chains on PostgreSQL: `python -m benchmarks.growth.pruning --chains 1000000`.

Reports the rate, the volume of the log (WAL), the size of the table, and the duration of claims before and meanwhile.
"""

from __future__ import annotations

import argparse
import threading
import time
from contextlib import closing
from statistics import median

import psycopg

from benchmarks.growth.filling import PENDING, claim, fill
from holdfast.engine.operations import Prune, Settle
from holdfast.engine.store import Store
from holdfast.stores.address import open_store
from holdfast.testing.builders import completed
from tests.servers.postgres import running_postgres

TOGETHER = 1000
"""Chains in one call, as a worker prunes."""
CLAIMED = 10
BEFORE_SECONDS = 5.0


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
    parser.add_argument("--chains", type=int, default=1_000_000)
    chains = parser.parse_args().chains
    with running_postgres(fsync="on", shared_buffers="512MB", max_wal_size="4GB") as server:
        store = open_store(server.address(notify="off"))
        store.open_sync()
        store.migrate_sync()
        with closing(server.connect()) as connection, closing(_Closed(store)):
            fill(store, chains)
            connection.execute("vacuum analyze holdfast.job")
            print(f"filled: {_size(connection)}", flush=True)
            claims = ClaimTimes(store)
            time.sleep(BEFORE_SECONDS)
            before = claims.take()
            log, begun, pruned = _log_position(connection), time.perf_counter(), 0
            while removed := len(store.perform_sync(Prune(TOGETHER))):
                pruned += removed
                if pruned >= chains:
                    break
            seconds = time.perf_counter() - begun
            claims.stop()
            meanwhile = claims.take()
            written = _log_position(connection) - log
            print(f"pruned {pruned:,} chains in {seconds:.1f} s: {pruned / seconds:,.0f} per second")
            print(f"log: {written / 1e6:,.0f} MB, {written / pruned:,.0f} bytes per chain, claims included")
            print(f"claims of {CLAIMED}: before {_times(before)}, meanwhile {_times(meanwhile)}")
            print(f"pruned: {_size(connection)}")
            connection.execute("vacuum holdfast.job")
            print(f"after a vacuum: {_size(connection)}", flush=True)


class _Closed:
    def __init__(self, store: Store) -> None:
        self.close = store.close_sync


def _times(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    high = ordered[int(len(ordered) * 0.99)]
    return f"median {median(ordered) * 1000:.2f} ms, 99 % below {high * 1000:.2f} ms ({len(ordered)} claims)"


def _log_position(connection: psycopg.Connection) -> int:
    row = connection.execute("select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint").fetchone()
    assert row is not None
    return int(row[0])


def _size(connection: psycopg.Connection) -> str:
    row = connection.execute(
        "select pg_size_pretty(pg_table_size('holdfast.job')), pg_size_pretty(pg_indexes_size('holdfast.job'))"
    ).fetchone()
    assert row is not None
    return f"table {row[0]}, indexes {row[1]}"


if __name__ == "__main__":
    main()
