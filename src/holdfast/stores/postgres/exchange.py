"""Statements straight through libpq: psycopg's cursors can do more than ours need, at twice the cost.

What is said to the server is written once, as a generator that stops where it would block; a blocking link then waits
for the socket, an async one has its event loop wait.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Generator, Iterable, Iterator
from typing import Any, TypeGuard, TypeVar, cast

import psycopg
from psycopg import pq
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq.abc import PGresult

from holdfast.sql.plan import Parameters, Row
from holdfast.stores.postgres.arrays import literal
from holdfast.stores.postgres.rendering import Rendered

R = TypeVar("R")

Exchange = Generator[bool, None, R]
"""Stops until the socket can be read or, where it yields True, written to."""

_EITHER = select.POLLIN | select.POLLOUT


class Session:
    """The server's end of a connection, one statement at a time."""

    def __init__(self, connection: psycopg.Connection | psycopg.AsyncConnection) -> None:
        self._server = connection.pgconn
        self._encoding = connection.info.encoding
        self._rows = Transformer(connection)
        self._names: dict[bytes, bytes] = {}
        self.prepares = False
        """Whether statements are prepared when they first come: only where the session stays the same.

        Those without parameters, BEGIN and COMMIT above all, gain nothing by it.
        """

    def ask(self, statement: Rendered, sets: Iterable[Parameters]) -> Exchange[list[Row]]:
        """Run a statement for each set of parameters, in turn; all of their rows.

        The next set is taken, and perhaps only then made, while the server is at the one before.
        """
        rows: list[Row] = []
        left = iter(sets)
        values = self._values(statement, left)
        while values is not None:
            if not self.prepares or not values:
                self._server.send_query_params(statement.encoded, values, result_format=pq.Format.BINARY)
            else:
                name = self._names.get(statement.encoded) or (yield from self._prepare(statement.encoded))
                self._server.send_query_prepared(name, values, result_format=pq.Format.BINARY)
            yield from self._flush()
            values = self._values(statement, left)
            result = yield from self._answer()
            if result.nfields:
                self._rows.set_pgresult(result)
                rows += self._rows.load_rows(0, result.ntuples, cast("type[Row]", tuple))
        return rows

    def _prepare(self, query: bytes) -> Exchange[bytes]:
        name = b"holdfast_%d" % len(self._names)
        self._server.send_prepare(name, query)
        yield from self._flush()
        yield from self._answer()
        self._names[query] = name
        return name

    def _flush(self) -> Exchange[None]:
        while self._server.flush():
            yield True
            self._server.consume_input()

    def _answer(self) -> Exchange[PGresult]:
        server = self._server
        answer: PGresult | None = None
        try:
            while True:
                while server.is_busy():
                    yield False
                    server.consume_input()
                if (result := server.get_result()) is None:
                    break
                answer = result
        except psycopg.OperationalError:
            # A server that ends the session says why, and then nothing more.
            if answer is None or answer.status != pq.ExecStatus.FATAL_ERROR:
                raise
        assert answer is not None
        if answer.status == pq.ExecStatus.FATAL_ERROR:
            raise error_from_result(answer, encoding=self._encoding)
        return answer

    def _values(self, statement: Rendered, left: Iterator[Parameters]) -> list[bytes | None] | None:
        """The next set of parameters, written; None if there are no more."""
        parameters = next(left, None)
        return None if parameters is None else [self._written(parameters[name]) for name in statement.names]

    def _written(self, value: Any) -> bytes | None:
        """A parameter as text. Each statement says what type it has."""
        if value is None:
            return None
        if type(value) is bytes:
            return b"\\x" + value.hex().encode()
        text = literal(value) if _is_list(value) else str(value)
        return text.encode(self._encoding)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return type(value) is list


def drive(exchange: Exchange[R], descriptor: int) -> R:
    """Carry an exchange through, blocking."""
    try:
        writes = next(exchange)
        poll = select.poll()
        while True:
            poll.register(descriptor, _EITHER if writes else select.POLLIN)
            poll.poll()
            writes = next(exchange)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def drive_async(exchange: Exchange[R], descriptor: int) -> R:
    """Carry an exchange through while the event loop does other things."""
    loop = asyncio.get_running_loop()
    try:
        writes = next(exchange)
        while True:
            ready = loop.create_future()
            loop.add_reader(descriptor, _finish, ready)
            if writes:
                loop.add_writer(descriptor, _finish, ready)
            try:
                await ready
            finally:
                loop.remove_reader(descriptor)
                if writes:
                    loop.remove_writer(descriptor)
            writes = next(exchange)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def _finish(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
