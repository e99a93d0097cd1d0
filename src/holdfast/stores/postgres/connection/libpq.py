"""Statements straight through libpq: psycopg's cursors can do more than ours need, at twice the cost.

What is said to the server is written once, as a generator that stops where it would block; a blocking link then waits
for the socket, an async one has its event loop wait.
"""

from __future__ import annotations

import logging
import select
from collections.abc import Generator, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeGuard, TypeVar, cast

import psycopg
from psycopg import capabilities, pq
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq.abc import PGresult

from holdfast.stores.postgres.connection.arrays import literal
from holdfast.stores.postgres.connection.rendering import Rendered
from holdfast.stores.postgres.connection.socket_watch import Readiness
from holdfast.stores.sql.plan import Parameters, Row
from holdfast.stores.sql.redaction import redact

log = logging.getLogger("holdfast")

R = TypeVar("R")

Exchange = Generator[bool, None, R]
"""Stops until the socket can be read or, where it yields True, written to."""

Asked = tuple[Rendered, Any]
"""A statement and its parameters by name."""

TOLD: Final[Row] = ("told",)
"""Behind the rows of a statement: what was sent behind it has told somebody something."""

_EITHER = select.POLLIN | select.POLLOUT


class Script(NamedTuple):
    """Statements without parameters, sent in one message. The first error ends it."""

    text: bytes


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
        values = self._next(statement, left)
        while values is not None:
            if not self.prepares or not values:
                self._server.send_query_params(statement.encoded, values, result_format=pq.Format.BINARY)
            else:
                name = yield from self._prepared(statement)
                self._server.send_query_prepared(name, values, result_format=pq.Format.BINARY)
            yield from self._flush()
            values = self._next(statement, left)
            rows += self._loaded((yield from self._answer()))
        return rows

    def run_script(self, script: Script) -> Exchange[list[Row]]:
        """Run a script; the rows of its last statement."""
        self._server.send_query(script.text)
        yield from self._flush()
        return self._loaded((yield from self._answer()))

    def ask_and_tell(self, asked: Asked, reported: Asked) -> Exchange[list[Row]]:
        """Run a statement, and another right behind its commit, without a wait in between; the rows of the first.

        TOLD comes after them if the second had a row. It has a commit of its own: where it fails, nothing was told.
        Nothing is sent behind a statement where that needs a newer libpq, or the session to stay the same.
        """
        if not self.pipelines:
            return (yield from self.ask(asked[0], (asked[1],)))
        names = (yield from self._prepared(asked[0])), (yield from self._prepared(reported[0]))
        self._server.enter_pipeline_mode()
        for name, (statement, parameters) in zip(names, (asked, reported), strict=True):
            self._server.send_query_prepared(name, self._values(statement, parameters), result_format=pq.Format.BINARY)
            self._server.pipeline_sync()
        yield from self._flush()
        rows = self._loaded((yield from self._answer(piped=True)))
        try:
            if (yield from self._answer(piped=True)).ntuples:
                rows.append(TOLD)
        except psycopg.Error as error:
            if error.sqlstate is None:
                raise
            # No room for a notification, most likely: somebody listens and does not hear.
            log.warning("a commit could not be told of: %s", error)
        self._server.exit_pipeline_mode()
        return rows

    @property
    def pipelines(self) -> bool:
        """Whether a second statement may be on its way before the first is answered."""
        return self.prepares and capabilities.has_pipeline()

    def _prepared(self, statement: Rendered) -> Exchange[bytes]:
        """The name of a statement, which the server is told when it first comes."""
        name = self._names.get(statement.encoded)
        if name is None:
            name = b"holdfast_%d" % len(self._names)
            self._server.send_prepare(name, statement.encoded)
            yield from self._flush()
            yield from self._answer()
            self._names[statement.encoded] = name
        return name

    def _flush(self) -> Exchange[None]:
        while self._server.flush():
            yield True
            self._server.consume_input()

    def _answer(self, *, piped: bool = False) -> Exchange[PGresult]:
        """What a statement came to. Behind its rows there may be an error yet: its commit can fail."""
        answer: PGresult | None = None
        try:
            while not self._has_ended(result := (yield from self._result()), piped=piped):
                answer = result or answer
        except psycopg.OperationalError:
            # A server that ends the session says why, and then nothing more.
            if answer is None or answer.status != pq.ExecStatus.FATAL_ERROR:
                raise
        if answer is None:
            raise psycopg.OperationalError("the connection is lost")
        if answer.status == pq.ExecStatus.FATAL_ERROR:
            error = error_from_result(answer, encoding=self._encoding)
            redact(error)
            raise error
        return answer

    def _has_ended(self, result: PGresult | None, *, piped: bool) -> bool:
        """Whether this is what comes behind all that a statement is answered with."""
        if result is None:
            return not piped or self._server.status != pq.ConnStatus.OK
        return result.status == pq.ExecStatus.PIPELINE_SYNC

    def _result(self) -> Exchange[PGresult | None]:
        while self._server.is_busy():
            yield False
            self._server.consume_input()
        return self._server.get_result()

    def _loaded(self, result: PGresult) -> list[Row]:
        if not result.nfields:
            return []
        self._rows.set_pgresult(result)
        return self._rows.load_rows(0, result.ntuples, cast("type[Row]", tuple))

    def _next(self, statement: Rendered, left: Iterator[Parameters]) -> list[bytes | None] | None:
        """The next set of parameters, written; None if there are no more."""
        parameters = next(left, None)
        return None if parameters is None else self._values(statement, parameters)

    def _values(self, statement: Rendered, parameters: Parameters) -> list[bytes | None]:
        return [self._written(parameters[name]) for name in statement.names]

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


async def drive_async(exchange: Exchange[R], readiness: Readiness) -> R:
    """Carry an exchange through while the event loop does other things."""
    try:
        writes = next(exchange)
        while True:
            await readiness.wait(writes=writes)
            writes = next(exchange)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
