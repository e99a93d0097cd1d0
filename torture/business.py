"""Transactions of the application: each writes a business row and starts a chain."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiosqlite
import psycopg

from holdfast import Bound, Client, HoldfastError
from holdfast.stores.postgres.address import parse
from torture.history import Outcome

MOST_CONNECTIONS = 4
TIMEOUT = 8.0
"""Timeout of a transaction, in seconds: a dead connection never answers."""


class Business:
    """Starts chains in transactions of the application, one connection per start, a few at a time."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._turns = asyncio.Semaphore(MOST_CONNECTIONS)

    async def start(
        self, client: Client, bound: Bound[Any], id: str, *, rollback: bool
    ) -> tuple[Outcome, dict[str, Any]]:
        """Write the row and start the chain, then commit or roll back. Returns the outcome and its facts."""
        async with self._turns:
            return await self._start(client, bound, id, rollback=rollback)

    async def _start(
        self, client: Client, bound: Bound[Any], id: str, *, rollback: bool
    ) -> tuple[Outcome, dict[str, Any]]:
        committing = False
        try:
            connection = await self._connect()
        except (psycopg.Error, aiosqlite.Error, OSError) as error:
            return "fail", {"error": str(error)}
        try:
            async with asyncio.timeout(TIMEOUT):
                await connection.execute(_insert(connection), (id,))
                chain = await client.start(bound, tx=connection)
                if rollback:
                    await connection.rollback()
                    return "fail", {"rolled back": True}
                committing = True
                await connection.commit()
                return "ok", {"found": [chain.id], "deduplicated": [chain.deduplicated]}
        except (psycopg.Error, aiosqlite.Error, HoldfastError, OSError) as error:
            # An error before COMMIT was sent is a certain rollback: the server discards the transaction.
            return ("info" if committing else "fail"), {"error": f"{type(error).__name__}: {error}"}
        finally:
            with suppress(psycopg.Error, aiosqlite.Error, OSError):
                await connection.close()

    async def _connect(self) -> Any:
        if self._url.startswith("sqlite"):
            path = Path("/" + self._url.removeprefix("sqlite:///").partition("?")[0].lstrip("/"))
            connection = await aiosqlite.connect(path, isolation_level=None, timeout=20)
            try:
                await connection.execute("begin immediate")
            except BaseException:
                await connection.close()
                raise
            return connection
        return await psycopg.AsyncConnection.connect(**parse(self._url).connection, connect_timeout=10)


def _insert(connection: Any) -> str:
    if isinstance(connection, psycopg.AsyncConnection):
        return "insert into torture.business (id) values (%s)"
    return "insert into torture_business (id) values (?)"
