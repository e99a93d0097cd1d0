"""Removes our statements and their parameters from the errors of database drivers.

The parameters contain the claim token and the payloads of jobs. Drivers and frameworks put them into the text of an
error: SQLAlchemy adds `[SQL: ...] [parameters: ...]`, PostgreSQL a DETAIL with the failing row, a CONTEXT with the
statement of a function, and asyncpg the argument that it could not encode. An error ends in logs and in the stored
error of a job, where neither a token nor a payload may appear.
"""

from __future__ import annotations

import re
from typing import Any, Final

_DRIVERS: Final = frozenset({"psycopg", "psycopg2", "asyncpg", "sqlite3", "aiosqlite", "sqlalchemy", "django"})
_ATTRIBUTES: Final = ("statement", "params", "detail", "hint", "context", "internal_query", "query", "pgerror")
"""Attributes of SQLAlchemy, asyncpg and psycopg2 errors with the statement, its parameters or the server's details."""
_ARGUMENT: Final = re.compile(r"(invalid input for query argument \$\d+).*", re.DOTALL)
"""asyncpg: the text continues with the value."""
_ARRAY: Final = re.compile(r"(invalid (?:array element|input) (?:in|for) .*?): .*", re.DOTALL)


def redact(error: BaseException) -> None:
    """Reduce an error of one of our statements, and the errors of the driver behind it, to their first lines.

    The class, the SQLSTATE and the first line stay, so that an application can still recognise and retry it.
    `__context__` is not touched: it may be an error of the application's own statement.
    """
    left: list[BaseException | None] = [error]
    seen: set[int] = set()
    while left:
        each = left.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        left += [each.__cause__, _behind(each)]
        if type(each).__module__.partition(".")[0] in _DRIVERS or _comes_from_driver(each):
            _redact(each)


def _behind(error: BaseException) -> BaseException | None:
    """The driver's error behind one of SQLAlchemy's."""
    found = getattr(error, "orig", None)
    return found if isinstance(found, BaseException) else None


def _comes_from_driver(error: BaseException) -> bool:
    return any(kind.__module__.partition(".")[0] in _DRIVERS for kind in type(error).__mro__)


def _redact(error: BaseException) -> None:
    for name in _ATTRIBUTES:
        if getattr(error, name, None) is not None:
            _clear(error, name)
    error.args = tuple(_first_line(value) if isinstance(value, str) else value for value in error.args)


def _clear(error: Any, name: str) -> None:
    try:
        setattr(error, name, [] if isinstance(getattr(error, name), list) else None)
    except (AttributeError, TypeError):
        return  # a read-only attribute, which the text of the error does not show


def _first_line(text: str) -> str:
    first = text.strip().partition("\n")[0]
    return _ARRAY.sub(r"\1", _ARGUMENT.sub(r"\1", first))
