"""How long the migration of the test held its lock, from the times that it wrote itself."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg

_POSTGRES = "select extract(epoch from ended - begun)::float8, held from holdfast.lock_time"
_SQLITE = "select (max(moment) - min(moment)) * 86400, count(*) = 2 from holdfast_lock_time"


def seconds_locked(store: str, address: str, folder: Path) -> float | None:
    """The seconds from the lock to the commit. None on Redis, which has no migrations."""
    match store:
        case "postgres":
            with psycopg.connect(address) as connection:
                row = connection.execute(_POSTGRES).fetchone()
        case "sqlite":
            with closing(sqlite3.connect(folder / "jobs.db")) as file:
                row = file.execute(_SQLITE).fetchone()
        case _:
            return None
    assert row is not None, "the migration wrote no times"
    seconds, held = row
    assert held, "the migration did not hold its lock when it wrote the times"
    return float(seconds)
