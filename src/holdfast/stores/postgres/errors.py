"""Classifies errors of the database and the network: whether to try again, and which error the caller gets."""

from __future__ import annotations

import random
import time
from enum import Enum
from typing import Any, Final

from holdfast.engine.operations import Operation
from holdfast.errors import Deadlock, NotPermitted, StoreUnavailable

RETRY_FOR: Final = 6.0
"""Seconds for which an operation is tried again. After that the caller gets the error; workers continue to try."""

_NOT_WRITTEN: Final = frozenset(
    {
        "40001",  # serialization failure
        "40P01",  # deadlock
        "55P03",  # lock timeout
        "53300",  # too many connections
        "57P03",  # starting up or shutting down
        "25006",  # read only: a standby, or a primary that is being replaced
        "26000",  # a prepared statement is missing: a pooler changed the session
        "42P05",  # a prepared statement already exists: a pooler changed the session
        "0A000",  # a cached plan does not match its table any more
    }
)
_IDLE: Final = "25P03"
"""The server ended a transaction that was idle for too long, and with it the session. Nothing of it was committed."""

_BROKEN: Final = frozenset({"57P01", "57P02", "57P05", "25P04"})
"""The server ended the session."""

_MISSING: Final = frozenset({"42P01", "3F000", "42883", "42703"})
"""A table, schema, function or column is missing."""

ABORTED: Final = (
    "nothing of this transaction is written: one of its statements failed, its error was caught, and after that "
    "PostgreSQL can only roll back. Let the error through, or run a statement that may fail in a savepoint: "
    "`with connection.transaction():`, or `begin_nested()` of a SQLAlchemy session"
)
_ABORTED: Final = "25P02"
_DENIED: Final = "42501"
_DEADLOCK: Final = "40P01"
_READS: Final = frozenset(
    {
        "get_chains", "get_jobs", "get_blockers", "list_chains", "list_jobs", "get_history", "get_stats", "next_due",
        "read_events", "examine", "preview", "get_dependents", "get_started",
    }
)  # fmt: skip
"""Verbs that need no privilege but SELECT."""


class NotMigrated(StoreUnavailable):
    """The tables are missing, or older than this version."""

    def __init__(self, store: str, schema: str, detail: str) -> None:
        self.schema = schema
        super().__init__(
            store,
            f"its tables are missing or out of date ({detail}). Run `holdfast migrate`, or open it once with "
            f"Client(..., migrate=True)",
        )


class Written(Enum):
    """Whether the statement may have been committed."""

    NO = "no"
    UNKNOWN = "unknown"
    REFUSED = "refused"
    """The statement was not committed, and another try will not help."""


class NoConnection(Exception):
    """No connection could be opened, so nothing was sent."""


class DeadlinePassed(Exception):
    """The server did not answer in time."""


def verdict(error: BaseException) -> Written:
    """Whether the statement that failed with this error of the driver may have been committed."""
    if isinstance(error, NoConnection):
        return Written.NO
    if isinstance(error, DeadlinePassed | OSError):
        return Written.UNKNOWN
    state = sqlstate(error)
    if state is None:
        # The error of a broken connection has no SQLSTATE.
        return Written.UNKNOWN if _is_broken(error) else Written.REFUSED
    if state in _NOT_WRITTEN or state == _IDLE:
        return Written.NO
    return Written.UNKNOWN if state in _BROKEN or state.startswith("08") else Written.REFUSED


def sqlstate(error: BaseException) -> str | None:
    """The SQLSTATE of the server. psycopg2 has another attribute for it."""
    return getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)


def is_missing(error: BaseException) -> bool:
    """Whether a table of the store is missing. SQLAlchemy and Django wrap the error of the driver."""
    return sqlstate(error) in _MISSING or sqlstate(_driver_error(error)) in _MISSING


def translated(error: BaseException, store: str, schema: str, verb: str = "") -> Exception:
    """The error for the caller. `verb` is the operation that failed."""
    if sqlstate(error) in _MISSING:
        return NotMigrated(store, schema, str(error).partition("\n")[0])
    if is_denied(error):
        return not_permitted(error, store, schema, verb)
    if is_outage(error):
        return StoreUnavailable(store, str(error).strip().partition("\n")[0] or type(error).__name__)
    assert isinstance(error, Exception)
    return error


def translated_in_transaction(error: Exception, store: str, schema: str, verb: str) -> Exception:
    """The error for the caller of an operation in an open transaction, which holds locks of earlier operations.

    An operation in its own transaction is repeated after a deadlock, and can only fail with StoreUnavailable.
    """
    if is_deadlock(error):
        return Deadlock(store, verb)
    return translated(error, store, schema, verb) if is_outage(error) else error


def is_aborted(error: BaseException) -> bool:
    """Whether an earlier statement of the transaction failed, so that it can only be rolled back."""
    return _ABORTED in (sqlstate(error), sqlstate(_driver_error(error)))


def is_denied(error: BaseException) -> bool:
    """Whether the role lacks a privilege."""
    return _DENIED in (sqlstate(error), sqlstate(_driver_error(error)))


def is_deadlock(error: BaseException) -> bool:
    """Whether the server ended the transaction because it and another one waited for each other."""
    return _DEADLOCK in (sqlstate(error), sqlstate(_driver_error(error)))


def not_permitted(error: BaseException, store: str, schema: str, verb: str) -> NotPermitted:
    """The error for a missing privilege. The server names the object; the privilege depends on the operation."""
    detail = str(_driver_error(error)).strip().partition("\n")[0]
    if "permission denied for schema" in detail and verb != "migrate":
        return NotPermitted(store, detail, f'USAGE on schema "{schema}"')
    if verb == "migrate":
        needed = f'the right to create tables in schema "{schema}": run `holdfast migrate` as the owner of the schema'
    elif verb == "start":
        needed = f'EXECUTE on all functions in schema "{schema}", as the role holdfast_starts of the guide has it'
    elif verb in _READS:
        needed = f'SELECT on all tables in schema "{schema}", as the role holdfast_reads of the guide has it'
    else:
        needed = (
            f'SELECT, INSERT, UPDATE and DELETE on all tables in schema "{schema}", as the role holdfast_works of the '
            f"guide has it"
        )
    return NotPermitted(store, detail, needed)


def _driver_error(error: BaseException) -> BaseException:
    """The error of the driver that SQLAlchemy or Django wraps, otherwise the error itself."""
    return getattr(error, "orig", None) or error.__cause__ or error


def is_outage(error: BaseException) -> bool:
    """Whether the database or the network failed, and not the plan."""
    if isinstance(error, DeadlinePassed | NoConnection | OSError):
        return True
    return type(error).__module__.partition(".")[0] in ("psycopg", "asyncpg") and not isinstance(error, ValueError)


class RetrySchedule:
    """When to try an operation again: for a limited time, with growing random pauses."""

    def __init__(self) -> None:
        self._until = time.monotonic() + RETRY_FOR
        self._tries = 0

    def pause(self, operation: Operation[Any], error: BaseException) -> float | None:
        """Seconds to wait before the next try; None for no further try."""
        written = verdict(error)
        if written is Written.REFUSED or (written is Written.UNKNOWN and not operation.repeatable):
            return None
        # This process was blocked while its transaction was idle. The database is available, so there is one more try.
        was_blocked = sqlstate(error) == _IDLE and not self._tries
        if isinstance(error, DeadlinePassed) or (time.monotonic() >= self._until and not was_blocked):
            return None
        self._tries += 1
        return random.uniform(0, min(1.0, 0.02 * 2**self._tries))


def _is_broken(error: BaseException) -> bool:
    return type(error).__name__ in (
        "OperationalError",
        "InterfaceError",
        "ConnectionDoesNotExistError",
        "InternalClientError",
    )
