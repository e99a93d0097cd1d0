"""The state of a connection: its session, its transaction and its deadline. The base of both kinds of connection."""

from __future__ import annotations

import math
import time
from typing import Final

import psycopg
from psycopg import pq

from holdfast.stores.postgres.address import PostgresAddress
from holdfast.stores.postgres.connection.libpq import Conversation, Session, SimpleQuery
from holdfast.stores.postgres.connection.rendering import Renderer
from holdfast.stores.postgres.errors import ABORTED, DeadlinePassed
from holdfast.stores.postgres.plan import (
    Begin,
    Commit,
    CommittingStatement,
    NotifyingStatement,
    Pipeline,
    Result,
    Savepoint,
)
from holdfast.stores.sql.lent_transaction import ended
from holdfast.stores.sql.plan import Many, Statement, sets_of

Sendable = Statement | Many | NotifyingStatement | CommittingStatement | Pipeline | SimpleQuery
"""What a connection sends to the server."""

BEGIN: Final = Statement(Begin.sql)
COMMIT: Final = Statement(Commit.sql)
ROLLBACK: Final = Statement("rollback")
TRANSACTION: Final = Statement("select txid_current()")
_SAVEPOINT: Final = Statement(Savepoint.sql)

BEGIN_LENT: Final = SimpleQuery(f"{Begin.sql}; select txid_current()".encode())
"""Begins a transaction and reads its id. Its operations lock rows, so the transaction would get an id in any case."""
_COMMIT_LENT: Final = "select 1 / coalesce(txid_current_if_assigned() = {id}, false)::int; commit"
"""Commits the transaction with this id. In any other transaction it fails with a division by zero."""


class ConnectionState:
    """The common part of blocking and async connections."""

    def __init__(
        self,
        native: psycopg.Connection | psycopg.AsyncConnection,
        address: PostgresAddress,
        render: Renderer,
    ) -> None:
        self.session = Session(native)
        self._native = native
        self.in_transaction = False
        self.transaction_id: int | None = None
        """The id of a transaction that the application may use."""
        self.idle_since = 0.0
        """When the connection was last returned to its pool."""
        self._deadline = address.deadline
        self._late = f"no answer within {address.deadline:g} s"
        self._render = render
        self._until = math.inf

    def call_functions(self) -> None:
        """Start jobs by the functions of the schema: this role has no rights on the tables."""
        self._render = self._render.with_calls()

    def start_clock(self) -> None:
        """Start the deadline of a plan. It covers all its attempts to lock the jobs that it needs."""
        self._until = time.monotonic() + self._deadline

    def check_intact(self) -> None:
        """Raises RuntimeError if a statement of the transaction failed: the server would roll back at COMMIT."""
        if self._native.pgconn.transaction_status == pq.TransactionStatus.INERROR:
            raise RuntimeError(ABORTED)

    def committing(self, *, checks: bool) -> Statement | SimpleQuery:
        """The statement that commits. With `checks`, it commits only the transaction that was begun here."""
        return SimpleQuery(_COMMIT_LENT.format(id=self.transaction_id).encode()) if checks else COMMIT

    def explain(self, error: psycopg.errors.DivisionByZero) -> Exception:
        """The cause of a failed commit: the check of the transaction id, or a deferred constraint."""
        failed_check = self._native.pgconn.transaction_status == pq.TransactionStatus.INERROR
        return ended() if failed_check else error

    def check_time(self) -> None:
        """Raises DeadlinePassed if a plan has tried for its whole deadline to lock jobs that others have locked."""
        if time.monotonic() > self._until:
            raise DeadlinePassed(self._late)

    def conversation(self, instruction: Sendable) -> Conversation[Result]:
        if isinstance(instruction, SimpleQuery):
            return self.session.run_script(instruction)
        if isinstance(instruction, NotifyingStatement):
            statement, notify = instruction
            return self.session.execute_then_notify(
                self._render(statement.sql), statement.parameters, self._render(notify.sql), notify.parameters
            )
        if isinstance(instruction, CommittingStatement):
            condition = Statement(instruction.condition, instruction.parameters)
            steps = (instruction.statement, _SAVEPOINT, condition, COMMIT)
            return self.session.execute_then_commit([(self._render(each.sql), each.parameters) for each in steps])
        if isinstance(instruction, Pipeline):
            return self.session.execute_all([(self._render(each.sql), each.parameters) for each in instruction.steps])
        return self.session.execute(self._render(instruction.sql), sets_of(instruction))
