"""SQLite files with the tables of Holdfast, copied from one that each test process makes once."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from holdfast.stores.sqlite import SqliteStore


def migrated_file(path: Path) -> str:
    """Write a file with the tables and no rows. Returns the address of its store.

    Creating the tables takes longer than most tests. Tests of migrations and of new files begin without a file.
    """
    path.write_bytes(_migrated())
    return f"sqlite:///{path}"


@cache
def _migrated() -> bytes:
    with tempfile.TemporaryDirectory(prefix="holdfast-sqlite-") as folder:
        path = Path(folder) / "jobs.db"
        store = SqliteStore(f"sqlite:///{path}")
        store.open_sync()
        store.close_sync()
        return path.read_bytes()
