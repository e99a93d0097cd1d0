"""Connections that are lent to the application for the length of one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import aiosqlite

REFUSAL = (
    "this transaction is Holdfast's: it commits when the handler has returned and rolls back when it raises; "
    "leave commit(), rollback() and close() to it"
)
_SCRIPT = "executescript() would commit Holdfast's transaction before it begins; use execute() for each statement"


class HeldCursor(sqlite3.Cursor):
    def executescript(self, sql_script: str, /) -> NoReturn:
        raise RuntimeError(_SCRIPT)


class HeldConnection(sqlite3.Connection):
    """A connection on which only we end transactions. We do it by statement; the methods are refused."""

    lent = False

    def cursor(self, factory: Callable[[sqlite3.Connection], sqlite3.Cursor] | None = None) -> Any:
        return super().cursor(HeldCursor if factory is None else factory)

    def commit(self) -> NoReturn:
        raise RuntimeError(REFUSAL)

    def rollback(self) -> NoReturn:
        raise RuntimeError(REFUSAL)

    def executescript(self, sql_script: str, /) -> NoReturn:
        raise RuntimeError(_SCRIPT)

    def __enter__(self) -> NoReturn:
        raise RuntimeError(REFUSAL)

    def close(self) -> None:
        if self.lent:
            raise RuntimeError(REFUSAL)
        super().close()


async def facade(connection: HeldConnection) -> aiosqlite.Connection:
    """The same connection for async code."""
    made = _facade_class()(lambda: connection, 64)
    # Ours to stop, not the interpreter's to wait for. Up to 0.21 the connection itself was the thread.
    thread: Any = getattr(made, "_thread", made)
    thread.daemon = True
    return await made


async def quiet(native: Any) -> None:
    """Wait for every statement that was given to a facade, also by a handler that was cancelled while it waited."""
    await native.quiet()


@cache
def _facade_class() -> type[aiosqlite.Connection]:
    import aiosqlite  # costs time, and blocking programs never need it

    class HeldFacade(aiosqlite.Connection):
        async def quiet(self) -> None:
            with suppress(ValueError):  # closed, so nothing more comes
                await self._execute(lambda: None)  # type: ignore[no-untyped-call]

        async def close(self) -> None:
            held = self._conn
            if isinstance(held, HeldConnection) and held.lent:
                raise RuntimeError(REFUSAL)
            await super().close()

    return HeldFacade
