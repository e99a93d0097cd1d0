"""The blockers of a job that is created or replaced."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.blocker_rules import NO_BLOCKERS, BlockerState, blocker_state
from holdfast.core.lifecycle import NewJob
from holdfast.stores.sql.plan import Many, Plan, PlanContext
from holdfast.stores.sqlite.rows import SQL
from holdfast.stores.sqlite.verbs import blockers

_INSERT_BLOCKER = SQL["insert_blocker"]


def wait_for(job: NewJob) -> Plan[BlockerState]:
    """What the blockers of a job mean for it."""
    if not job.after:
        return NO_BLOCKERS
    statuses = yield from blockers.statuses(job.after)
    return blocker_state(job.on_blocker_failure, job.after, statuses)


def name_blockers(job_id: str, after: Sequence[str]) -> Plan[None]:
    """Let a job wait for these chains."""
    if after:
        yield Many(_INSERT_BLOCKER, [(job_id, position, chain_id) for position, chain_id in enumerate(after)])


def end_at_once(context: PlanContext, job: NewJob, waiting: BlockerState) -> Plan[None]:
    """Fail or cancel the job if the ends of its blockers require it."""
    if waiting.cancelled:
        yield from blockers.cancel_waiting(context, job.id, job.chain_id, job.type)
        yield from blockers.broken(context, job.chain_id)
    if waiting.broken is not None:
        yield from blockers.fail_with(context, job, waiting.broken)
        yield from blockers.broken(context, job.chain_id)
