"""A verb of a SQL store as a plan: a generator that yields statements and is sent their rows.

The logic of a verb is written once. Whoever has a connection, blocking or async, ours or the application's, runs it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from holdfast.core.clock import Micros
from holdfast.engine.generators import drive, drive_async
from holdfast.engine.wakeups import Hints

R = TypeVar("R")

Row = tuple[Any, ...]
Parameters = Mapping[str, Any]

NOTHING: Parameters = {}


class Statement(NamedTuple):
    """One statement; all of its rows are the answer."""

    sql: str
    parameters: Parameters | Row = NOTHING
    """By name, or by place for a driver that numbers them."""
    behind: Statement | None = None
    """On our own connections to PostgreSQL: sent right behind it, with a commit of its own and no wait in between."""

    def __repr__(self) -> str:
        """Without the parameters: they contain tokens and payloads."""
        return f"Statement({self.sql[:40]!r}...)"


class Many(NamedTuple):
    """One statement for many sets of parameters, in turn. On PostgreSQL all of their rows are the answer, else none."""

    sql: str
    parameters: Iterable[Parameters] | Iterable[Row]
    """Each is taken while the server is at the one before."""


Plan = Generator[Statement | Many, list[Row], R]


def sets_of(step: Statement | Many) -> Iterable[Any]:
    """The sets of parameters that a statement is run with."""
    return (step.parameters,) if isinstance(step, Statement) else step.parameters


@dataclass(slots=True)
class Turn:
    """One performance of a verb: its time, and what it gathers for others to hear after the commit."""

    now: Micros
    hints: Hints = field(default_factory=Hints)
    listening: bool = False
    """Whether anybody wants events recorded."""
    events: list[Row] = field(default_factory=lambda: [])  # noqa: PIE807 - list[Row]() takes five times as long

    def record(self, kind: str, job_id: str, chain_id: str, type: str, attempt: int, worker: str | None = None) -> None:
        """Note an event, if anybody listens."""
        if self.listening:
            self.events.append((self.now, kind, job_id, chain_id, type, attempt, worker))


def gather(into: Hints, hints: Hints) -> None:
    """Add what one turn tells to what its transaction tells."""
    into.add(hints)


run = drive
run_async = drive_async
