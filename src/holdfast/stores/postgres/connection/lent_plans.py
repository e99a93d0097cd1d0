"""Runs plans in a transaction of the store that the application may use. The transaction is open, or begins with it."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from holdfast.engine.generators import translate
from holdfast.stores.postgres.connection.connection_state import (
    BEGIN_LENT,
    TRANSACTION,
    ConnectionState,
    Sendable,
)
from holdfast.stores.postgres.plan import (
    Begin,
    Commit,
    CommittingStatement,
    Instruction,
    NotifyingStatement,
    Pipeline,
    Plan,
    ReleaseSavepoint,
    Result,
    RollbackToSavepoint,
    Savepoint,
)
from holdfast.stores.sql.plan import Statement

R = TypeVar("R")

Sending = Generator[Sendable, Result, R]
"""Yields what the connection sends, and receives the answers."""


def executed(connection: ConnectionState, plan: Plan[R], *, begins: bool) -> Sending[R]:
    """What a plan sends in the open transaction. With `begins`, the transaction begins with its first statement."""
    connection.start_clock()

    def execute(instruction: Instruction) -> Sending[Result]:
        nonlocal begins
        if begins:
            begins = False
            return _begin(connection, instruction)
        return _execute(connection, instruction)

    return translate(plan, execute)


def _begin(connection: ConnectionState, instruction: Instruction) -> Sending[Result]:
    """Begin the transaction and read its id, in one round trip with its first statement."""
    if isinstance(instruction, Statement) and connection.session.pipelines:
        ((connection.transaction_id,), *rows) = yield Pipeline((Begin(), TRANSACTION, instruction))
        connection.in_transaction = True
        return Result(rows)
    ((connection.transaction_id,),) = yield BEGIN_LENT
    connection.in_transaction = True
    return (yield from _execute(connection, instruction))


def _execute(connection: ConnectionState, instruction: Instruction) -> Sending[Result]:
    """Execute an instruction in the open transaction. A NOTIFY is not pipelined: hints are sent after the commit."""
    match instruction:
        case Begin() | Commit():
            return Result()
        case Pipeline(steps):
            result = Result()
            for each in steps:
                result += yield from _execute(connection, each)
            return result
        case CommittingStatement(parameters=parameters):
            result = yield instruction._replace(parameters={**parameters, "transaction": connection.transaction_id})
            connection.in_transaction = not result.committed
            return result
        case RollbackToSavepoint():
            connection.check_time()
            return (yield Statement(instruction.sql))
        case Savepoint() | ReleaseSavepoint():
            return (yield Statement(instruction.sql))
        case NotifyingStatement(statement):
            return (yield statement)
        case _:
            return (yield instruction)
