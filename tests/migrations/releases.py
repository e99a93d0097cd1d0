"""The schema and the Redis layout of every release, stored in a folder per version.

`make schema` writes the folder of the version in pyproject.toml. Run it while that version is not released. Afterwards
the folder does not change: a change of the schema is a new migration and a new version.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from holdfast.stores.postgres import migration as postgres_migration
from holdfast.stores.sqlite import migration as sqlite_migration
from tests.migrations import redis_layout
from tools.version import version

FOLDER = Path(__file__).parent
RELEASES = sorted(path.name for path in FOLDER.iterdir() if re.fullmatch(r"\d+\.\d+\.\d+", path.name))
POSTGRES, SQLITE, REDIS = "postgres.sql", "sqlite.sql", "redis.json"


def stored(release: str, name: str) -> str:
    return (FOLDER / release / name).read_text(encoding="utf-8")


def postgres_script() -> str:
    """Creates the schema as the working tree does."""
    return postgres_migration.script("holdfast")


def sqlite_script() -> str:
    """Creates the tables as the working tree does, and records the migrations."""
    records = [f"insert into {sqlite_migration.TABLE} values ('{name}', 0);" for name in sqlite_migration.migrations()]
    return "\n".join(
        [f"{sqlite_migration.CREATE_TABLE.strip()};", *sqlite_migration.migrations().values(), *records, ""]
    )


def create_sqlite(path: Path, release: str) -> None:
    """A file as the release created it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(stored(release, SQLITE))
        connection.execute("pragma journal_mode=wal")


def main() -> None:
    """Write the folder of the version in pyproject.toml."""
    folder = FOLDER / version()
    folder.mkdir(exist_ok=True)
    texts = {POSTGRES: postgres_script(), SQLITE: sqlite_script()}
    texts[REDIS] = json.dumps(redis_layout.sample(), indent=1, sort_keys=True) + "\n"
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"{folder / name}\n")


if __name__ == "__main__":
    main()
