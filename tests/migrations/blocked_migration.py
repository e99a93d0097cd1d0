"""A migration on PostgreSQL that has to wait for a table, because an application keeps a transaction open."""

from __future__ import annotations

import threading
import time

import psycopg

from tests.migrations.version_processes import Version
from tests.waiting import wait_until

_EXCLUSIVE = """
    select granted from pg_locks join pg_class on pg_class.oid = relation
     where mode = 'AccessExclusiveLock' and relnamespace = to_regnamespace('holdfast') and relname = 'job'
"""


def migrate_beside_an_open_transaction(old: Version, new: Version) -> str:
    """Migrate while the producer of the old version runs. Returns how long the table was locked, as sampled.

    On a busy machine the samples may miss a short lock, and the time is 0.
    The producer limits each wait for a lock and ends with an error if it waits longer, so it is the check.
    """
    with LockWatch(old.address) as watch, psycopg.connect(old.address) as application:
        application.execute("lock table holdfast.job in row exclusive mode")  # as an open transaction with a start
        migration = new.begin("migrate")
        wait_until(lambda: watch.waits >= 2)  # it gave up once, and tries again
        old.wait_for_starts(2)  # sessions that waited behind the migration continue
        application.commit()
        written, _ = migration.communicate()
    assert migration.returncode == 0, written
    return f"waited for the table {watch.waits} times, {watch.waited:.3f} s at most; locked it {watch.granted:.3f} s\n"


class LockWatch:
    """Samples the exclusive lock of the table of jobs, in a thread."""

    def __init__(self, address: str) -> None:
        self.waits = 0
        self.waited = self.granted = 0.0
        self._address = address
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> LockWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        state, since = None, time.monotonic()
        with psycopg.connect(self._address, autocommit=True) as connection:
            while not self._ended.wait(0.002):
                row = connection.execute(_EXCLUSIVE).fetchone()
                found = None if row is None else bool(row[0])
                now = time.monotonic()
                if state is True:
                    self.granted = max(self.granted, now - since)
                elif state is False:
                    self.waited = max(self.waited, now - since)
                if found is not state:
                    self.waits += found is False
                    state, since = found, now
