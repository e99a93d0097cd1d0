"""Decides when the server has to plan the prepared statements of a session again.

The server plans a prepared statement once, with the sizes that its tables have at that moment. A worker that waits at
an empty queue has plans for empty tables, in which all indexes cost the same. After many jobs were started, such plans
would read whole tables until autovacuum analyzes the tables. The planner knows the real size of a table without
statistics, so planning again is enough. It happens after a slow statement, if the plans are not new.
"""

from __future__ import annotations

SLOW_SECONDS = 0.01
"""A statement that takes at least this long is slow. A commit on an ordinary disk takes less time, so commits do not
make an idle worker send additional statements."""

KEEP_SECONDS = 5.0
"""Plans that are younger than this are kept. So statements that are slow for another reason, such as a row lock, cause
additional planning only once in this time."""


class PlanAge:
    """The age of the plans of one session."""

    def __init__(self, now: float) -> None:
        self._planned_at = now
        self.outdated = False
        """Whether to plan all statements again before the next one."""

    def performed(self, begun: float, ended: float) -> None:
        """Record when a prepared statement began and ended. A slow one makes plans outdated that are not new."""
        if ended - begun >= SLOW_SECONDS and begun - self._planned_at >= KEEP_SECONDS:
            self.outdated = True

    def discarded(self, now: float) -> None:
        """Record that the server has discarded the plans."""
        self._planned_at = now
        self.outdated = False
