"""SQLite: a new file in a new folder for every run."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.contender import Place
from benchmarks.storage.storage import Storage


class SqliteStorage:
    facts = {"SQLite": sqlite3.sqlite_version}  # noqa: RUF012

    @contextmanager
    def fresh(self) -> Generator[Place]:
        with TemporaryDirectory(prefix="holdfast-bench-") as folder:
            yield Place("sqlite", str(Path(folder) / "jobs.db"))


@contextmanager
def sqlite_storage() -> Generator[Storage]:
    yield SqliteStorage()
