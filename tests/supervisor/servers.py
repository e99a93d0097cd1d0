"""Database servers for one test: they can be stopped and started, and count their requests."""

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
    """A server. Its data survives a stop."""

    url: str
    stop: Callable[[], None]
    start: Callable[[], None]
    asked: Callable[[], int]
    """The number of statements or requests that it has received so far, from all clients."""


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
            # Commands that a script calls are counted too; each script was one request.
            return sum(counted.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in REQUESTS)

        yield Server(server.address(), server.stop, server.start, asked)


REQUESTS = ("eval", "evalsha", "ping")
SERVERS: dict[str, Callable[[], AbstractContextManager[Server]]] = {"postgres": postgres, "redis": redis}
