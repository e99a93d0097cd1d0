"""When the server has to plan the prepared statements of a session again.

The server plans a prepared statement once, with the sizes that its tables have at that moment. A worker that waits at
an empty queue has plans for empty tables, in which all indexes cost the same. They would read whole tables after many
jobs were started, until autovacuum analyzes the tables. The planner knows the real size of a table without statistics,
so it is enough to plan again: after a slow statement, if the plans are not new.
"""

from __future__ import annotations

SLOW_SECONDS = 0.01
"""A commit on an ordinary disk is faster, so that an idle worker sends no more statements than otherwise."""

KEEP_SECONDS = 5.0
"""Statements that are slow for another reason, such as a row lock, cost one more planning per this time."""


class PlanAge:
    """The age of the plans of one session."""

    def __init__(self, now: float) -> None:
        self._planned_at = now
        self.outdated = False
        """Whether to plan all statements again before the next one."""

    def performed(self, begun: float, ended: float) -> None:
        """A prepared statement took this time."""
        if ended - begun >= SLOW_SECONDS and begun - self._planned_at >= KEEP_SECONDS:
            self.outdated = True

    def discarded(self, now: float) -> None:
        """The server has forgotten the plans."""
        self._planned_at = now
        self.outdated = False
