"""A verb of the PostgreSQL store as a plan: a generator that yields instructions and receives their results.

An instruction is a statement, a statement with a NOTIFY or a commit right behind it, a pipeline, or a transaction
command. The plan decides where a transaction begins and ends; each kind of connection decides what that means for it:

- A pooled connection executes every command. For `RollbackToSavepoint` it rolls back and begins again, and ignores the
  other savepoint commands.
- In a transaction that is already open, `Begin` and `Commit` do nothing, and savepoints are real ones.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from holdfast.stores.sql.plan import NOTHING, Many, Row, Statement

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Begin:
    """The rest of the plan, up to `Commit`, is one transaction. Before `Begin`, each statement commits by itself.

    The isolation level is read committed, even if the database has another default: a statement that waited for a row
    lock must see what the other transaction wrote.
    """

    sql = "begin isolation level read committed"
    parameters = NOTHING


@dataclass(frozen=True, slots=True)
class Commit:
    """The transaction ends here, and the plan continues."""

    sql = "commit"
    parameters = NOTHING


@dataclass(frozen=True, slots=True)
class Savepoint:
    """Locks taken from here on can be released by `RollbackToSavepoint`."""

    sql = "savepoint holdfast"


@dataclass(frozen=True, slots=True)
class RollbackToSavepoint:
    """Release every lock taken since `Savepoint`."""

    sql = "rollback to savepoint holdfast"


@dataclass(frozen=True, slots=True)
class ReleaseSavepoint:
    """Keep the locks taken since `Savepoint`."""

    sql = "release savepoint holdfast"


SavepointCommand = Savepoint | RollbackToSavepoint | ReleaseSavepoint


class NotifyingStatement(NamedTuple):
    """A statement that commits by itself, and a NOTIFY statement that is pipelined behind it with its own commit."""

    statement: Statement
    notify: Statement

    @property
    def sql(self) -> str:
        return self.statement.sql


class CommittingStatement(NamedTuple):
    """A statement, and the commit of its transaction if `condition` succeeds after it. All are sent together.

    The condition is a query that fails with a division by zero if the transaction must not commit. The transaction then
    stays open, with the effects of the statement. It also stays open if the connection cannot pipeline. In a
    transaction of the application only the statement is executed.
    """

    statement: Statement
    condition: str
    parameters: Mapping[str, Any]
    """The parameters of the condition. Its parameter `transaction` is the id of the transaction that began here."""

    @property
    def sql(self) -> str:
        return self.statement.sql


class Pipeline(NamedTuple):
    """Instructions that are sent together: the server does not wait for the client between them.

    The result is all rows of its statements. After an error the server omits the rest, so no step can commit without
    the steps before it. Outside of a transaction it depends on the driver whether the statements commit one by one, so
    begin one.
    """

    steps: Sequence[Statement | Begin | Commit]

    def leaves_open(self, is_open: bool) -> bool:
        """Whether a transaction is open after these steps."""
        for step in self.steps:
            if not isinstance(step, Statement):
                is_open = isinstance(step, Begin)
        return is_open


Instruction = Statement | Many | NotifyingStatement | CommittingStatement | Pipeline | Begin | Commit | SavepointCommand


class Result(list[Row]):
    """The rows of an instruction."""

    committed = False
    """True if a `CommittingStatement` has committed the transaction."""
    notified = False
    """True if the NOTIFY of a `NotifyingStatement` was sent. False if the connection could not pipeline it."""


Plan = Generator[Instruction, Result, R]
