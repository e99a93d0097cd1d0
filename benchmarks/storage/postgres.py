"""PostgreSQL: a private server that syncs every commit to disk, and a new database for every run."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from itertools import count

from benchmarks.contender import Place
from benchmarks.storage.storage import Storage
from tests.servers.postgres import Postgres, running_postgres


class PostgresStorage:
    def __init__(self, server: Postgres) -> None:
        self._server = server
        self._numbers = count()
        with closing(server.connect()) as connection:
            rows = connection.execute(
                "select name, setting from pg_settings where name in"
                " ('server_version', 'fsync', 'synchronous_commit', 'full_page_writes')"
            ).fetchall()
        self.facts = {f"PostgreSQL {name}": str(value) for name, value in rows} | {"shared_buffers": "512MB"}

    @contextmanager
    def fresh(self) -> Generator[Place]:
        name = f"run{next(self._numbers)}"
        with closing(self._server.connect()) as connection:
            connection.execute(f"create database {name}".encode())
            # Write the dirty pages of the previous run before this one.
            connection.execute("checkpoint")
        try:
            yield Place("postgres", f"postgresql://postgres@127.0.0.1:{self._server.port}/{name}")
        finally:
            with closing(self._server.connect()) as connection:
                connection.execute(f"drop database {name} with (force)".encode())


@contextmanager
def postgres_storage() -> Generator[Storage]:
    with running_postgres(fsync="on", shared_buffers="512MB", max_wal_size="4GB") as server:
        yield PostgresStorage(server)
