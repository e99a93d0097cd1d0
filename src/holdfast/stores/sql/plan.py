"""A plan performs a verb of a SQL store. It is a generator that yields statements and receives their rows.

The logic of a verb is therefore written once. The same plan runs on a blocking or an async connection, and on a
connection of the store or of the application. `holdfast.engine.generators` runs it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from holdfast.core.clock import Micros
from holdfast.core.counters import Appending, CounterChange
from holdfast.core.error_groups import StoredFailure
from holdfast.engine.wakeups import Hints

R = TypeVar("R")

Row = tuple[Any, ...]
Parameters = Mapping[str, Any]

NOTHING: Parameters = {}


class Statement(NamedTuple):
    """One statement. Its result is all of its rows."""

    sql: str
    parameters: Parameters | Row = NOTHING
    """By name, or by position for a driver with numbered parameters."""

    def __repr__(self) -> str:
        """Without the parameters: they contain tokens and payloads."""
        return f"Statement({self.sql[:40]!r}...)"


class Many(NamedTuple):
    """One statement for many sets of parameters. The result is all rows on PostgreSQL, and no rows on SQLite."""

    sql: str
    parameters: Iterable[Parameters] | Iterable[Row]
    """The next set is read while the server executes the previous one."""


Plan = Generator[Statement | Many, list[Row], R]


def sets_of(instruction: Statement | Many) -> Iterable[Any]:
    """The sets of parameters of a statement."""
    return (instruction.parameters,) if isinstance(instruction, Statement) else instruction.parameters


@dataclass(slots=True)
class PlanContext:
    """The context of a plan: its time, and the hints and events that its plan collects."""

    now: Micros
    hints: Hints = field(default_factory=Hints)
    listening: bool = False
    """Whether a listener is registered, so that events are recorded."""
    events: list[Row] = field(default_factory=lambda: [])  # noqa: PIE807 - list[Row]() takes five times as long
    changes: Appending | None = None
    """Changes of counters, for a store that writes them at the end of the verb."""

    def count(self, change: CounterChange, job_id: str | None = None, failure: StoredFailure | None = None) -> None:
        """Add a change of a counter; for a failure, with the group of its error and the failed job."""
        if failure is not None:
            change = change._replace(fingerprint=failure.fingerprint, summary=failure.summary, example=job_id)
        if self.changes is None:
            self.changes = Appending()
        self.changes.add(change)

    def record(self, kind: str, job_id: str, chain_id: str, type: str, attempt: int, worker: str | None = None) -> None:
        """Add an event, if a listener is registered."""
        if self.listening:
            self.events.append((self.now, kind, job_id, chain_id, type, attempt, worker))
