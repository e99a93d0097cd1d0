"""The statements that write outcomes, each of any number of attempts.

They answer with how the jobs stood before, but for those that somebody holds: a row is the job's id, a `Stood`, and
whether anybody listens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from holdfast.core.lifecycle import NewJob, Settlement
from holdfast.stores.postgres.execution import Turn
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Statement

_COMPLETED = SQL["settle_completed"]
_CONTINUED = SQL["settle_continued"]
_ENDED = SQL["settle_ended"]

Write = Callable[[Turn, Sequence[Settlement]], Statement]
"""One of the three."""


class Stood(NamedTuple):
    """How a claimed job stood when its settlement came."""

    status: str
    token: str | None
    awaited: bool
    chain_id: str
    type: str


def completed(turn: Turn, settlements: Sequence[Settlement], *, all: bool = False, ends: bool = True) -> Statement:
    """Attempts that completed their jobs. `all`: also where chains are waited for; `ends`: no other job follows."""
    voice = None if all else turn.voice
    return Statement(
        _COMPLETED,
        _claims(turn, settlements)
        | {
            "outputs": [each.output for each in settlements],
            "all": all,
            "ends": ends,
        },
        None if voice is None else voice.tell_completed([each.claim for each in settlements]),
    )


def continued(turn: Turn, settlements: Sequence[Settlement]) -> Statement:
    """Attempts that handed over to the next jobs of their chains, which wait for nothing."""
    jobs = [each.continuation for each in settlements if each.continuation is not None]
    return Statement(
        _CONTINUED,
        _claims(turn, settlements)
        | {
            "next_ids": [job.id for job in jobs],
            "next_types": [job.type for job in jobs],
            "next_inputs": [job.input for job in jobs],
            "next_indexes": [job.index for job in jobs],
            "next_priorities": [job.priority for job in jobs],
            "next_delays": [job.delay for job in jobs],
            "next_ats": _optional(jobs, lambda job: job.at),
            "next_max_attempts": _optional(jobs, lambda job: job.max_attempts),
            "next_timeouts": _optional(jobs, lambda job: job.timeout),
            "next_keeps": _optional(jobs, lambda job: job.keep),
            "next_keys": _optional(jobs, lambda job: job.key),
            "next_traces": _optional(jobs, lambda job: job.trace),
            "next_on_blocker_failures": [job.on_blocker_failure for job in jobs],
        },
    )


def ended(turn: Turn, settlements: Sequence[Settlement], *, all: bool = False, ends: bool = True) -> Statement:
    """Attempts that did not complete their jobs. `all` as above."""
    return Statement(
        _ENDED,
        _claims(turn, settlements)
        | {
            "statuses": [each.status.value for each in settlements],
            "outcomes": [each.outcome for each in settlements],
            "errors": [each.error for each in settlements],
            "delays": [each.delay for each in settlements],
            "ats": [each.at for each in settlements],
            "all": all,
        },
    )


def _claims(turn: Turn, settlements: Sequence[Settlement]) -> dict[str, Any]:
    return {
        "now": turn.now or turn.clock,
        "ids": [each.claim.job_id for each in settlements],
        "tokens": [each.claim.token for each in settlements],
        "keeps": [each.keep for each in settlements] if any(each.keep is not None for each in settlements) else [],
    }


def _optional(jobs: Sequence[NewJob], of: Callable[[NewJob], Any]) -> list[Any]:
    values = [of(job) for job in jobs]
    return values if any(value is not None for value in values) else []
