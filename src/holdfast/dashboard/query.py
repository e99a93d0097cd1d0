"""The query language of lists: `type:charge status:failed error:Timeout key:order-7 age:>1h`.

A query is a sequence of `name:value`. A value with spaces is quoted. `type` and `status` accept several values with
commas between them. `age` is the time since the creation: `>1h` is older, `<30m` is younger.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from holdfast.core.record import Status
from holdfast.dashboard.access import Access
from holdfast.dashboard.viewer import ListFilters

MOST_CHARACTERS = 500
STATUSES = (*(str(status) for status in Status), "scheduled")
EXAMPLE = "type:charge status:failed error:Timeout key:order-7 age:>1h"

_TERM = re.compile(r'(?:(\w+):)?("(?:[^"\\]|\\.)*"|\S+)')
_AGE = re.compile(r"([<>])=?\s*(\d{1,6}(?:\.\d{1,3})?)\s*(s|m|min|h|d|w)")
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}


@dataclass(frozen=True, slots=True)
class Term:
    """One `name:value` of a query."""

    name: str
    value: str

    def __str__(self) -> str:
        return f"{self.name}:{_quoted(self.value)}"


@dataclass(slots=True)
class Query:
    """A query as filters of the client. If it has problems, it must not be used: it would find other jobs."""

    terms: list[Term] = field(default_factory=list[Term])
    filters: ListFilters = field(default_factory=lambda: ListFilters())
    chain: str | None = None
    problems: list[str] = field(default_factory=list[str])

    def values(self, name: str) -> list[str]:
        """The values of a name, without duplicates."""
        return list(dict.fromkeys(part for term in self.terms if term.name == name for part in term.value.split(",")))

    def with_term(self, name: str, value: str | None) -> str:
        """The text of the query with another value for a name, or without the name."""
        kept = [str(term) for term in self.terms if term.name != name]
        return " ".join(kept if value is None else [*kept, str(Term(name, value))])

    @property
    def only(self) -> frozenset[str]:
        """The names that the query uses."""
        return frozenset(term.name for term in self.terms)

    def __str__(self) -> str:
        return " ".join(map(str, self.terms))


def parse(text: str, access: Access | None = None, *, now: datetime | None = None) -> Query:
    """Read a query of a viewer. It never raises: problems are sentences for the viewer."""
    query = Query()
    if len(text) > MOST_CHARACTERS:
        query.problems.append(f"A query has at most {MOST_CHARACTERS} characters.")
        return query
    for match in _TERM.finditer(text):
        name, value = (match[1] or "").lower(), _unquoted(match[2])
        reader = _READERS.get(name)
        if not name:
            query.problems.append(
                f"{value!r:.60} has no name. Write error:{value:.40} or key:{value:.40}, or use the search."
            )
        elif reader is None:
            query.problems.append(f"{name!r:.60} is unknown. The names are {', '.join(_READERS)}.")
        elif not value or "\0" in value:
            query.problems.append(f"{name} needs a value.")
        else:
            query.terms.append(Term(name, value))
            problem = reader(query, value, now or datetime.now(UTC))
            if problem is not None:
                query.problems.append(problem)
    if "error" in query.only and access is not None and access.redact is not None:
        # The store searches the text before redaction, so that the results would reveal it.
        query.problems.append(
            "error: is not possible, because errors are redacted for you. The page Errors has groups."
        )
    return query


def _type(query: Query, value: str, now: datetime) -> str | None:
    query.filters["type"] = [*query.filters.get("type", ()), *filter(None, value.split(","))]
    return None


def _status(query: Query, value: str, now: datetime) -> str | None:
    statuses: Sequence[str] = [*query.filters.get("status", ()), *filter(None, value.lower().split(","))]
    unknown = [each for each in statuses if each not in STATUSES]
    if unknown:
        return f"{unknown[0]!r:.60} is no status. The statuses are {', '.join(STATUSES)}."
    if "scheduled" in statuses and len(set(statuses)) > 1:
        return "status:scheduled cannot be combined with another status."
    query.filters["status"] = list(dict.fromkeys(statuses))
    return None


def _age(query: Query, value: str, now: datetime) -> str | None:
    match = _AGE.fullmatch(value)
    if match is None:
        return f"{value!r:.60} is no age. Write for example age:>1h or age:<30m."
    seconds = float(match[2]) * _UNITS[match[3]]
    try:
        moment = now - timedelta(seconds=seconds)
    except OverflowError:
        return f"{value!r:.60} is too long ago."
    if match[1] == ">":
        query.filters["created_until"] = moment
    else:
        query.filters["created_since"] = moment
    return None


def _text(name: str) -> Callable[[Query, str, datetime], str | None]:
    def read(query: Query, value: str, now: datetime) -> str | None:
        if name == "chain":
            query.chain = value
        elif name == "error":
            query.filters["error"] = value
        elif name == "key":
            query.filters["key"] = value
        elif name == "worker":
            query.filters["worker"] = value
        else:
            query.filters["fingerprint"] = value
        return None

    return read


_READERS: dict[str, Callable[[Query, str, datetime], str | None]] = {
    "type": _type,
    "status": _status,
    "error": _text("error"),
    "key": _text("key"),
    "age": _age,
    "worker": _text("worker"),
    "group": _text("group"),
    "chain": _text("chain"),
}


def _quoted(value: str) -> str:
    if value and not re.search(r'[\s"\\]', value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] == '"':
        return re.sub(r"\\(.)", r"\1", value[1:-1])
    return value
