"""A migration on PostgreSQL that has to wait for a table, because an application keeps a transaction open."""

from __future__ import annotations

import threading
import time

import psycopg

from tests.migrations.version_processes import Version
from tests.waiting import wait_until

_WAITING = """
    select from pg_locks join pg_class on pg_class.oid = relation
     where mode = 'AccessExclusiveLock' and not granted
       and relnamespace = to_regnamespace('holdfast') and relname = 'job'
"""


def migrate_beside_an_open_transaction(old: Version, new: Version) -> float:
    """Migrate while the producer of the old version runs. Returns the longest wait for the table, in seconds.

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
    return watch.waited


class LockWatch:
    """Samples in a thread whether a session waits for the exclusive lock of the table of jobs.

    A wait lasts two seconds, so that samples find it. The time for which the lock is held may be shorter than the
    pause between two samples: the migration writes it itself.
    """

    def __init__(self, address: str) -> None:
        self.waits = 0
        self.waited = 0.0
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
        waiting, since = False, time.monotonic()
        with psycopg.connect(self._address, autocommit=True) as connection:
            while not self._ended.wait(0.002):
                found = connection.execute(_WAITING).fetchone() is not None
                now = time.monotonic()
                if waiting:
                    self.waited = max(self.waited, now - since)
                if found is not waiting:
                    self.waits += found
                    waiting, since = found, now
