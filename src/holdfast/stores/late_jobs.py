"""What `holdfast doctor` reports about jobs that no worker claims or reaps. All stores use the same text."""

from __future__ import annotations

from holdfast.core.clock import SECOND, Micros
from holdfast.engine.operations import Finding

LATE = 300 * SECOND
"""A job that has been due for longer than this probably has no worker."""


def expired(count: int, longest: Micros | None, *, held: int = 0) -> Finding:
    """The number of jobs with an expired lease, and since when. Open transactions hold `held` of them."""
    if not count or longest is None:
        return Finding("ok", "expired leases", "none")
    detail = f"{count} running jobs have lost their worker, the first {longest / SECOND:.0f} s ago"
    if held:
        detail = f"{detail}; open transactions hold {held} of them"
    return Finding("warning", "expired leases", detail if held >= count else f"{detail}; start a worker of their types")


def oldest(type: str | None, waited: Micros | None) -> Finding:
    """The job that has been due the longest, of a type that is not paused."""
    if type is None or waited is None:
        return Finding("ok", "oldest due job", "none")
    detail = f"a job of type {type!r} has been due for {waited / SECOND:.0f} s"
    if waited > LATE:
        return Finding("warning", "oldest due job", f"{detail}; does a worker run that type?")
    return Finding("ok", "oldest due job", detail)
