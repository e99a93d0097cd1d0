"""The shop's own tables, in the same SQLite file as its jobs.

The ledger gets a row in the transaction that completes a job, and has no unique index: if a job could be completed
twice, or by a worker that had lost it, there would be two rows.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path

SCHEMA = """
create table orders (number integer primary key, customer integer not null, amount integer not null);
create table ledger (job text not null, type text not null, subject integer not null, attempt integer not null);
"""
ENTER = "insert into ledger (job, type, subject, attempt) values (?, ?, ?, ?)"


def open_shop(path: Path) -> sqlite3.Connection:
    """The application's own connection to the file; the application begins and ends its transactions."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=10)
    # The workers write to this file and make its checkpoints.
    connection.execute("pragma wal_autocheckpoint = 0")
    return connection


def entries(shop: sqlite3.Connection) -> Counter[str]:
    """How many rows each job has in the ledger."""
    return Counter(job for (job,) in shop.execute("select job from ledger"))


def ordered_total(shop: sqlite3.Connection) -> int:
    """The total amount of all orders."""
    (total,) = shop.execute("select sum(amount) from orders").fetchone()
    return int(total)
