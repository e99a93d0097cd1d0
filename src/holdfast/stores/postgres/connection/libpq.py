"""Sends statements directly through libpq. The cursors of psycopg have more features and take twice as long.

The protocol is written once, as generators that yield where they would block. A blocking connection then waits for the
socket itself; an async connection lets the event loop wait.
"""

from __future__ import annotations

import logging
import select
import time
from collections.abc import Coroutine, Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeGuard, TypeVar, cast

import psycopg
from psycopg import capabilities, pq
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq.abc import PGconn, PGresult

from holdfast.engine import generators
from holdfast.stores.postgres.connection.arrays import literal
from holdfast.stores.postgres.connection.plan_age import PlanAge
from holdfast.stores.postgres.connection.rendering import Rendered
from holdfast.stores.postgres.connection.socket_watch import SocketWatch
from holdfast.stores.postgres.plan import Result
from holdfast.stores.sql.plan import Parameters, Row
from holdfast.stores.sql.redaction import redact

log = logging.getLogger("holdfast")

R = TypeVar("R")

Conversation = Generator[bool, None, R]
"""Yields where it has to wait for the socket: False until data was read, True until data was read or can be written."""

_EITHER = select.POLLIN | select.POLLOUT


class SimpleQuery(NamedTuple):
    """Statements without parameters, sent in one message. The server stops at the first error."""

    text: bytes


_DISCARD_PLANS = SimpleQuery(b"discard plans")
_RELEASE = SimpleQuery(b"rollback to savepoint holdfast; release savepoint holdfast")


class Session:
    """The protocol of one connection: one statement at a time."""

    def __init__(self, connection: psycopg.Connection | psycopg.AsyncConnection) -> None:
        self._server = connection.pgconn
        self._encoding = connection.info.encoding
        self._rows = Transformer(connection)
        self._names: dict[bytes, bytes] = {}
        self._plans = PlanAge(time.monotonic())
        self.prepares = False
        """Whether statements are prepared at their first use. False behind a pooler, where the session may change.

        BEGIN, COMMIT and the like are never prepared: that would not make them faster.
        """

    def execute(self, statement: Rendered, sets: Iterable[Parameters]) -> Conversation[Result]:
        """Run a statement for each set of parameters, and return all rows.

        The next set is computed while the server executes the statement with the previous one.
        """
        result = Result()
        left = iter(sets)
        values = self._next(statement, left)
        while values is not None:
            begun: float | None = None
            if not self.prepares or not values:
                self._server.send_query_params(statement.encoded, values, result_format=pq.Format.BINARY)
            else:
                name = yield from self._prepared(statement)
                begun = time.monotonic()
                self._server.send_query_prepared(name, values, result_format=pq.Format.BINARY)
            yield from self._flush()
            values = self._next(statement, left)
            result += self._loaded((yield from self._answer()))
            if begun is not None:
                self._plans.performed(begun, time.monotonic())
        return result

    def run_script(self, script: SimpleQuery) -> Conversation[Result]:
        """Run a script, and return the rows of its last statement."""
        self._server.send_query(script.text)
        yield from self._flush()
        return Result(self._loaded((yield from self._answer())))

    def execute_then_notify(
        self, statement: Rendered, parameters: Any, notify: Rendered, notify_parameters: Any
    ) -> Conversation[Result]:
        """Run a statement, pipeline a NOTIFY statement behind its commit, and return the rows of the first.

        `notified` of the result is True if the NOTIFY statement returned a row. It has its own commit; if it fails, no
        notification was sent. The statement is not sent at all behind a pooler, or if libpq cannot pipeline.
        """
        if not self.pipelines:
            return (yield from self.execute(statement, (parameters,)))
        name, notify_name = (yield from self._prepared(statement)), (yield from self._prepared(notify))
        self._server.enter_pipeline_mode()
        begun = time.monotonic()
        self._pipeline(name, self._values(statement, parameters))
        self._pipeline(notify_name, self._values(notify, notify_parameters))
        yield from self._flush()
        result = Result(self._loaded((yield from self._answer(piped=True))))
        self._plans.performed(begun, time.monotonic())
        try:
            result.notified = bool((yield from self._answer(piped=True)).ntuples)
        except psycopg.Error as error:
            if error.sqlstate is None:
                raise
            # Most likely the notification queue of the server is full, because a session listens and does not read.
            log.warning("no notification was sent after a commit: %s", error)
        self._server.exit_pipeline_mode()
        return result

    def execute_all(self, steps: Sequence[tuple[Rendered, Any]]) -> Conversation[Result]:
        """Run statements one after another until one fails, and return all rows.

        They are sent at once, unless libpq cannot pipeline, or the connection is behind a pooler.
        """
        result = Result()
        if not self.pipelines:
            for statement, parameters in steps:
                result += yield from self.execute(statement, (parameters,))
            return result
        yield from self._send_all(steps)
        begun = time.monotonic()
        yield from self._flush()
        for _ in steps:
            result += self._loaded((yield from self._answer()))
        yield from self._synchronise()
        self._plans.performed(begun, time.monotonic())
        self._server.exit_pipeline_mode()
        return result

    def execute_then_commit(self, steps: Sequence[tuple[Rendered, Any]]) -> Conversation[Result]:
        """Run a statement, and commit its transaction if the condition behind it succeeds. Returns the rows.

        `steps` are the statement, the savepoint, the condition and the commit. `committed` of the result is False after
        a division by zero in the condition. The transaction is then as it was before the savepoint.
        """
        if not self.pipelines:
            return (yield from self.execute(steps[0][0], (steps[0][1],)))
        yield from self._send_all(steps)
        begun = time.monotonic()
        yield from self._flush()
        result = Result(self._loaded((yield from self._answer())))
        yield from self._answer()
        try:
            yield from self._answer()
            result.committed = True
        except psycopg.errors.DivisionByZero:
            pass  # the server omits the commit
        yield from self._answer()
        yield from self._synchronise()
        self._plans.performed(begun, time.monotonic())
        self._server.exit_pipeline_mode()
        if not result.committed:
            yield from self.run_script(_RELEASE)
        return result

    def _send_all(self, steps: Sequence[tuple[Rendered, Any]]) -> Conversation[None]:
        """Send statements in pipeline mode, with one synchronisation: after an error the server omits the rest."""
        names: list[bytes] = []
        for statement, _ in steps:
            names.append((yield from self._prepared(statement)) if statement.names or statement.is_query else b"")
        self._server.enter_pipeline_mode()
        for name, (statement, parameters) in zip(names, steps, strict=True):
            values = self._values(statement, parameters)
            if name:
                self._server.send_query_prepared(name, values, result_format=pq.Format.BINARY)
            else:
                self._server.send_query_params(statement.encoded, values, result_format=pq.Format.BINARY)
        self._server.pipeline_sync()

    def _pipeline(self, name: bytes, values: list[bytes | None]) -> None:
        self._server.send_query_prepared(name, values, result_format=pq.Format.BINARY)
        self._server.pipeline_sync()

    @property
    def pipelines(self) -> bool:
        """Whether a second statement may be sent before the first is answered."""
        return self.prepares and capabilities.has_pipeline()

    def _prepared(self, statement: Rendered) -> Conversation[bytes]:
        """The name of a prepared statement. Prepares it at its first use."""
        if self._plans.outdated:
            yield from self.run_script(_DISCARD_PLANS)
            self._plans.discarded(time.monotonic())
        name = self._names.get(statement.encoded)
        if name is None:
            name = b"holdfast_%d" % len(self._names)
            self._server.send_prepare(name, statement.encoded)
            yield from self._flush()
            yield from self._answer()
            self._names[statement.encoded] = name
        return name

    def _flush(self) -> Conversation[None]:
        while self._server.flush():
            yield True

    def _answer(self, *, piped: bool = False) -> Conversation[PGresult]:
        """The last result of a statement. An error may follow the rows: the implicit commit can fail."""
        answer: PGresult | None = None
        server = self._server
        try:
            while True:
                while server.is_busy():
                    yield False
                result = server.get_result()
                if result is None:
                    if not piped or server.status != pq.ConnStatus.OK:
                        break
                elif result.status == pq.ExecStatus.PIPELINE_SYNC:
                    break
                else:
                    answer = result
        except psycopg.OperationalError:
            # A server that ends the session sends the reason, and then closes the connection.
            if answer is None or answer.status != pq.ExecStatus.FATAL_ERROR:
                raise
        if answer is None:
            raise psycopg.OperationalError("the connection is lost")
        if answer.status == pq.ExecStatus.FATAL_ERROR:
            error = error_from_result(answer, encoding=self._encoding)
            redact(error)
            raise error
        return answer

    def _synchronise(self) -> Conversation[None]:
        """Read the end of the answers in pipeline mode."""
        while self._server.is_busy():
            yield False
        self._server.get_result()

    def _loaded(self, result: PGresult) -> list[Row]:
        if not result.nfields:
            return []
        self._rows.set_pgresult(result)
        return self._rows.load_rows(0, result.ntuples, cast("type[Row]", tuple))

    def _next(self, statement: Rendered, left: Iterator[Parameters]) -> list[bytes | None] | None:
        """The next set of parameters, encoded; None after the last."""
        parameters = next(left, None)
        return None if parameters is None else self._values(statement, parameters)

    def _values(self, statement: Rendered, parameters: Parameters) -> list[bytes | None]:
        return [None if (value := parameters[name]) is None else self._encoded(value) for name in statement.names]

    def _encoded(self, value: Any) -> bytes:
        """A parameter in text format. The statement itself casts it to its type."""
        if type(value) is str:
            return value.encode(self._encoding)
        if type(value) is bytes:
            return b"\\x" + value.hex().encode()
        text = literal(value) if _is_list(value) else str(value)
        return text.encode(self._encoding)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return type(value) is list


def drive(conversation: Conversation[R], server: PGconn) -> R:
    """Run a conversation to its end. This thread waits for the socket."""
    poll, descriptor = select.poll(), server.socket

    def wait(writes: bool) -> None:
        poll.register(descriptor, _EITHER if writes else select.POLLIN)
        poll.poll()
        server.consume_input()

    return generators.drive(conversation, wait)


def drive_async(conversation: Conversation[R], watch: SocketWatch) -> Coroutine[Any, Any, R]:
    """Run a conversation to its end. The event loop waits for the socket."""
    return generators.drive_async(conversation, watch.wait)
