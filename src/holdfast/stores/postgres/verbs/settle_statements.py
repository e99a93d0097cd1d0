"""The statements that write the outcomes of attempts. Each writes any number of them.

They return the state of each job before the write. Jobs that another transaction locks are left out. A row is the id of
the job, a `JobState`, and whether there are listeners.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from holdfast.core.lifecycle import OPTIONS, NewJob, Settlement
from holdfast.stores.postgres.plan import CommittingStatement, NotifyingStatement
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Statement

_COMPLETED = SQL["settle_completed"]
_COMPLETED_ONE = SQL["settle_completed_one"]
_GUARDED = SQL["settle_guarded"]
_COMMITS = SQL["settle_commits"]
_CONTINUED = SQL["settle_continued"]
_ENDED = SQL["settle_ended"]

Write = Callable[[PlanContext, Sequence[Settlement]], Statement | NotifyingStatement]
"""One of `completed`, `continued` and `ended`."""


class JobState(NamedTuple):
    """The state of a claimed job when its settlement is written."""

    status: str
    token: str | None
    awaited: bool
    chain_id: str
    type: str


def completed(
    context: PlanContext, settlements: Sequence[Settlement], *, all: bool = False, ends: bool = True
) -> Statement | NotifyingStatement:
    """The statement for completed jobs. With `all`, also for jobs of awaited chains. With `ends`, the chains end."""
    if len(settlements) == 1 and ends and not all:
        statement = _completed_one(_COMPLETED_ONE, context, settlements[0])
    else:
        statement = Statement(
            _COMPLETED,
            _claims(context, settlements)
            | {
                "outputs": [each.output for each in settlements],
                "all": all,
                "ends": ends,
            },
        )
    if all or context.notify is None:
        return statement
    return NotifyingStatement(statement, context.notify.completed([each.claim for each in settlements]))


def committing(context: PlanContext, settlement: Settlement) -> CommittingStatement:
    """The statement that completes the job of an attempt in its own transaction, and commits it if it did.

    If the job was skipped, for example because its chain is awaited, nothing is written and the transaction stays open.
    """
    if settlement.continuation is None:
        statement = _completed_one(_GUARDED, context, settlement)
    else:
        statement = continued(context, [settlement])
    claim = settlement.claim
    return CommittingStatement(statement, _COMMITS, {"id": claim.job_id, "token": claim.token})


def _completed_one(sql: str, context: PlanContext, settlement: Settlement) -> Statement:
    return Statement(
        sql,
        {
            "now": context.now or context.clock,
            "id": settlement.claim.job_id,
            "token": settlement.claim.token,
            "output": settlement.output,
            "keep": settlement.keep,
            "ahead": settlement.ahead,
        },
    )


def continued(context: PlanContext, settlements: Sequence[Settlement]) -> Statement:
    """The statement for attempts that continued their chains with jobs that have no blockers."""
    jobs = [each.continuation for each in settlements if each.continuation is not None]
    return Statement(
        _CONTINUED,
        _claims(context, settlements)
        | {
            "next_ids": [job.id for job in jobs],
            "next_types": [job.type for job in jobs],
            "next_inputs": [job.input for job in jobs],
            "next_indexes": [job.index for job in jobs],
            "next_priorities": [job.priority for job in jobs],
            "next_delays": [job.delay for job in jobs],
            "next_ats": _optional(jobs, lambda job: job.at),
            **{f"next_{option}": _optional(jobs, attrgetter(option)) for option in OPTIONS},
            "next_keys": _optional(jobs, lambda job: job.key),
            "next_details": _optional(jobs, lambda job: job.details),
            "next_on_blocker_failures": [job.on_blocker_failure for job in jobs],
        },
    )


def ended(
    context: PlanContext, settlements: Sequence[Settlement], *, all: bool = False, ends: bool = True
) -> Statement:
    """The statement for attempts that did not complete their jobs. With `all`, also for jobs of awaited chains."""
    return Statement(
        _ENDED,
        _claims(context, settlements)
        | {
            "statuses": [each.status.value for each in settlements],
            "outcomes": [each.outcome for each in settlements],
            "errors": [each.error for each in settlements],
            "delays": [each.delay for each in settlements],
            "ats": [each.at for each in settlements],
            "fingerprints": [None if each.failure is None else each.failure.fingerprint for each in settlements],
            "summaries": [None if each.failure is None else each.failure.summary for each in settlements],
            "begun": [each.begun for each in settlements],
            "all": all,
        },
    )


def _claims(context: PlanContext, settlements: Sequence[Settlement]) -> dict[str, Any]:
    return {
        "now": context.now or context.clock,
        "ids": [each.claim.job_id for each in settlements],
        "tokens": [each.claim.token for each in settlements],
        "keeps": [each.keep for each in settlements] if any(each.keep is not None for each in settlements) else [],
        "aheads": aheads(settlements),
    }


def aheads(settlements: Sequence[Settlement]) -> list[int]:
    """How long after its claim each attempt began; empty if all began at once."""
    return [each.ahead for each in settlements] if any(each.ahead for each in settlements) else []


def _optional(jobs: Sequence[NewJob], of: Callable[[NewJob], Any]) -> list[Any]:
    values = [of(job) for job in jobs]
    return values if any(value is not None for value in values) else []
