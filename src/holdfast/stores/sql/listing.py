"""The conditions of a list as SQL. Values are always parameters.

A list is one query for each status: only a status that is written in the statement lets the planner use a partial
index. If the filter has conditions that no index answers, the list first finds its floor: the seq of the oldest row
that it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from holdfast.core.error_search import ErrorSearch
from holdfast.core.record import Status
from holdfast.engine.operations import Filter, ListChains, ListJobs

Condition = tuple[str, dict[str, Any]]
"""The text of a condition, and its parameters by name."""

_PLACE = "/* narrowed */"

RECENT = 4000
"""How many of the newest jobs are searched before all jobs of a status. In a backlog, the first page is among them."""
NEWEST = 1000
"""How many of the newest last jobs are read before all last jobs of a status. Their chains fill most pages."""


class Dialect(Protocol):
    """How a database writes the parts of a condition."""

    now: str

    def integer(self, name: str) -> str:
        """A parameter that is an integer."""
        ...

    def text(self, name: str) -> str:
        """A parameter that is a text."""
        ...

    def one_of(self, column: str, name: str) -> str:
        """Whether a column has one of the values of a parameter."""
        ...

    def names(self, values: Sequence[str]) -> Any:
        """The value of such a parameter."""
        ...

    def error_text(self, row: str) -> str:
        """The line `Type: message` of the error of a row, ASCII letters in lower case. Null if there is none."""
        ...

    def contains(self, text: str, part: str) -> str:
        """Whether a text contains another one."""
        ...


def statuses(wanted: Filter) -> list[Status | None]:
    """The statuses to query, one query each. `None` means any status. An empty list: no job can match."""
    given: list[Status | None] = list(dict.fromkeys(wanted.statuses)) or [None]
    for only, status in (
        (wanted.scheduled, Status.PENDING),
        (wanted.failing, Status.PENDING),
        (wanted.failed_since is not None, Status.FAILED),
        (wanted.fingerprint is not None, Status.FAILED),
    ):
        if only:
            given = [status] if given == [None] or status in given else []
    if wanted.failing is False and given == [None]:
        return list(Status)
    return given


def by_status(wanted: Filter, status: Status | None) -> bool:
    """Whether the index of a status and its types is used. The jobs of a key or of a chain are fewer."""
    return status not in (None, Status.COMPLETED) and wanted.key is None and wanted.chain_id is None


def may_be_recent(wanted: Filter, status: Status | None, floor: int | None) -> bool:
    """Whether a list first searches recent jobs: those of this status may be many, as in a backlog."""
    many = status is not Status.RUNNING and by_status(wanted, status)
    return many and floor is None and wanted.fingerprint is None


def needs_scan(wanted: Filter, status: Status | None) -> bool:
    """Whether a query for this status reads rows that do not match."""
    if wanted.chain_id is not None:
        return False
    if not by_status(wanted, status) and (status is not None or wanted.types):
        return True
    others = (wanted.created_since, wanted.created_until, wanted.failed_since, wanted.finished_since)
    by_type = wanted.chain_types and wanted.key is None  # an index finds both together
    return bool(by_type or wanted.error or wanted.worker) or any(each is not None for each in others)


def found_by_index(dialect: Dialect, wanted: Filter, status: Status | None, *, first: str, last: str) -> Condition:
    """The conditions that an index answers, on the first and the last job of a chain, or twice on the same job."""
    found = [("key", f"{first}.key = {dialect.text('key')}", wanted.key)]
    if by_status(wanted, status):
        found += _of_last(dialect, wanted, status, last)
        found.append(("fingerprint", f"{last}.fingerprint = {dialect.text('fingerprint')}", wanted.fingerprint))
    return _joined(found)


def all_conditions(dialect: Dialect, wanted: Filter, status: Status | None, *, first: str, last: str) -> Condition:
    """All conditions except those on the chain, the keep time and the place in the list."""
    text, parameters = found_by_index(dialect, wanted, status, first=first, last=last)
    more, values = _joined(
        [
            *([] if by_status(wanted, status) else _of_last(dialect, wanted, status, last)),
            ("chain_types", dialect.one_of(f"{first}.type", "chain_types"), _names(dialect, wanted.chain_types)),
            ("created_since", f"{first}.created_at >= {dialect.integer('created_since')}", wanted.created_since),
            ("created_until", f"{first}.created_at < {dialect.integer('created_until')}", wanted.created_until),
            ("failed_since", f"{last}.finished_at >= {dialect.integer('failed_since')}", wanted.failed_since),
            ("finished_since", f"{last}.finished_at >= {dialect.integer('finished_since')}", wanted.finished_since),
            ("worker", f"{last}.worker = {dialect.text('worker')}", wanted.worker),
        ]
    )
    text, parameters = text + more, parameters | values
    if wanted.failing is not None and status is Status.PENDING:
        text += f" and {'' if wanted.failing else 'not '}({last}.attempt > 0 and {last}.error is not null)"
    if wanted.error is not None:
        found, values = _error(dialect, ErrorSearch.of(wanted.error), last)
        text, parameters = f"{text} and {found}", parameters | values
    return text, parameters


def below(op: ListJobs | ListChains, before: str, last: str = "last") -> str:
    """The condition on a last job whose chain may be older than the row with the seq `before`.

    A chain is not newer than its last job. Only a chain of one job has the same seq.
    """
    return "" if op.before is None else f" and ({last}.chain_index > 0 or {last}.seq < {before})"


def narrowed(statement: str, conditions: str) -> str:
    """A statement with these conditions."""
    return filled(statement, _PLACE, conditions, times=1)


def filled(statement: str, place: str, text: str, *, times: int = -1) -> str:
    """A statement with this text at a place that it marks. By default, at all such places."""
    assert place in statement, f"no {place} in: {statement}"
    return statement.replace(place, text, times)


def _error(dialect: Dialect, search: ErrorSearch, row: str) -> Condition:
    text = dialect.error_text(row)
    parameters = {"error": search.text}
    for number, (upper, lower) in enumerate(search.replacements):
        names = [prefix + "x" * number for prefix in ("upper_x", "lower_x")]  # names of parameters have no digits
        text = f"replace({text}, {dialect.text(names[0])}, {dialect.text(names[1])})"
        parameters |= dict(zip(names, (upper, lower), strict=True))
    return dialect.contains(text, dialect.text("error")), parameters


def _status(status: Status | None, row: str) -> tuple[str, str, Any]:
    return "", f"{row}.status = '{status and status.value}'", status


def _of_last(dialect: Dialect, wanted: Filter, status: Status | None, row: str) -> list[tuple[str, str, Any]]:
    return [_status(status, row), _types(dialect, wanted, row), _scheduled(dialect, wanted, row)]


def _scheduled(dialect: Dialect, wanted: Filter, row: str) -> tuple[str, str, Any]:
    return "", f"{row}.scheduled_at > {dialect.now}", wanted.scheduled or None


def _types(dialect: Dialect, wanted: Filter, row: str) -> tuple[str, str, Any]:
    return "types", dialect.one_of(f"{row}.type", "types"), _names(dialect, wanted.types)


def _names(dialect: Dialect, values: Sequence[str]) -> Any:
    return dialect.names(values) if values else None


def _joined(conditions: Sequence[tuple[str, str, Any]]) -> Condition:
    """The conditions whose value is given. A name is the parameter that has the value."""
    given = [condition for condition in conditions if condition[2] is not None]
    return "".join(f" and {text}" for _, text, _ in given), {name: value for name, _, value in given if name}
