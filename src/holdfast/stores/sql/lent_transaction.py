"""A transaction of the store whose connection is lent to the application. The application must not end it.

`commit()`, `rollback()`, `close()` and `begin()` are rejected before they take effect, and so are their SQL commands.
A rejected call fails the transaction even if the application catches the error: after a rejected `rollback()`, a
commit would write what the application wanted to undo. If a command is not rejected, the next operation detects it.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from holdfast.engine.operations import Complete, Guard, Operation, SaveSteps, Settle
from holdfast.engine.unawaited import UnawaitedCalls

_REFUSED = (
    "{call} is not allowed here: this transaction is Holdfast's. It commits when the block or the handler that it "
    "belongs to has ended, and rolls back when an exception leaves it. To commit, leave the block; to roll back, "
    "raise. For statements that may fail use a savepoint: SAVEPOINT, connection.transaction() or session.begin_nested()"
)
_ENDED = (
    "the transaction was ended by a statement of the application, inside the block that Holdfast commits. "
    "Nothing of the job was written. If that statement was a COMMIT, the rows written before it are committed, and "
    "another attempt may write them again. Remove the statement; to commit, leave the block"
)
_ENDED_BORROWED = (
    "the transaction of tx was ended inside the block: completing(tx=...) needs one transaction from its beginning to "
    "its end. The chain was not completed. If it was a commit, the rows written before it are committed. "
    "Commit after the block; for statements that may fail use a savepoint"
)

OVER = "this transaction is over"


class TransactionGuard:
    """The state of one lent transaction."""

    def __init__(self) -> None:
        self.over = False
        """Whether the store ended the transaction. Its connection may be in another one now."""
        self.used = False
        """Whether the application executed statements in it."""
        self.ended = False
        """Whether the application ended the transaction."""
        self.unawaited = UnawaitedCalls()
        """The statements of async code: a forgotten `await` is an error at the end of the block."""
        self._refused: str | None = None

    def refuse(self, call: str) -> NoReturn:
        """RuntimeError for a call that would end the transaction."""
        if self._refused is None:
            self._refused = call
        raise RuntimeError(_REFUSED.format(call=call))

    def refuse_statement(self, sql: str) -> None:
        """RuntimeError for SQL that would begin or end a transaction."""
        if (command := transaction_command(sql)) is not None:
            self.refuse(command)

    def check(self) -> None:
        """RuntimeError if the application ended the transaction, or tried to."""
        if self._refused is not None:
            raise RuntimeError(_REFUSED.format(call=self._refused))
        if self.ended:
            raise ended()


def may_commit(operation: Operation[Any]) -> bool:
    """Whether a store may commit the transaction together with this operation."""
    return isinstance(operation, Settle) and operation.commits


SAME_TRANSACTION = frozenset({Complete.verb, Guard.verb, SaveSteps.verb, Settle.verb})
"""Operations that belong to the transaction of an earlier `LockChain` or `Guard`."""


class TransactionIdentity:
    """Identifies a transaction of the application, from its first operation to its last."""

    def __init__(self) -> None:
        self.holds_locks = False
        """Whether an earlier operation acquired locks in it. The end of the transaction releases them."""
        self.id: int | None = None
        """The transaction id, for a store that has one. None before the first `LockChain` or `Guard`."""
        self.borrowed = False
        """Whether the transaction is the application's own, of `completing(tx=...)`."""

    def check(self, *, is_open: bool) -> None:
        """RuntimeError if the transaction is no longer open."""
        if self.holds_locks and not is_open:
            raise ended(borrowed=self.borrowed)


def ended(*, borrowed: bool = False) -> RuntimeError:
    """The error after the application has ended a transaction. `borrowed`: it was the application's own."""
    return RuntimeError(_ENDED_BORROWED if borrowed else _ENDED)


_COMMAND = re.compile(
    r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*"
    r"(begin|start\s+transaction|commit|end|rollback|abort|prepare\s+transaction)\b"
    r"(?!\s+(?:(?:work|transaction)\s+)?to\b)",  # back to a savepoint
    re.IGNORECASE | re.DOTALL,
)
_OPAQUE = re.compile(
    r"[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|(\$\w*\$).*?\1|--[^\n]*|/\*.*?\*/", re.DOTALL
)
"""Strings and comments, in which a semicolon does not end a statement."""
_HAS_BODY = re.compile(r"\s*create\b", re.IGNORECASE)
"""Triggers and functions contain statements and have their own END."""


def transaction_command(sql: str) -> str | None:
    """The command in this SQL that begins or ends a transaction; None without one. Savepoint commands do not count."""
    if (found := _COMMAND.match(sql)) is None and ";" in sql:
        for statement in _OPAQUE.sub(" ", sql).split(";"):
            if _HAS_BODY.match(statement):
                return None
            if (found := _COMMAND.match(statement)) is not None:
                break
    return None if found is None else " ".join(found[1].upper().split())
