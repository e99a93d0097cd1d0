"""Database servers of a test's own: they can be stopped and started, and count what they are asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from holdfast.stores.postgres import PostgresStore
from tests.servers.postgres import running_postgres
from tests.servers.redis import run_redis


@dataclass(frozen=True)
class Server:
    """A server. What it holds outlives a stop."""

    url: str
    stop: Callable[[], None]
    start: Callable[[], None]
    asked: Callable[[], int]
    """How many statements or commands it has been given so far, by anybody."""


@contextmanager
def postgres() -> Generator[Server]:
    # Its own counters lag by up to ten seconds for sessions that fall idle; its log does not.
    with running_postgres(log_statement="all", log_min_messages="log") as server:
        PostgresStore(server.address()).migrate_sync()

        def asked() -> int:
            return len(re.findall(r"LOG:  (?:statement|execute)", (server.home / "log").read_text(errors="replace")))

        yield Server(server.address(), server.stop, server.start, asked)


@contextmanager
def redis() -> Generator[Server]:
    with run_redis(appendonly="yes") as server:

        def asked() -> int:
            with server.connect() as client:
                counted = client.info("commandstats")
            # Not what this very question cost.
            return sum(row["calls"] for name, row in counted.items() if name.partition("|")[0] not in QUESTIONS)

        yield Server(server.address(), server.stop, server.start, asked)


QUESTIONS = {"cmdstat_info", "cmdstat_client", "cmdstat_hello"}
SERVERS: dict[str, Callable[[], AbstractContextManager[Server]]] = {"postgres": postgres, "redis": redis}
