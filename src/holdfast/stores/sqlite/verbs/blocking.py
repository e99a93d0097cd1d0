"""The blockers of a job that is created or replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from holdfast.core.blocker_rules import waiting_status, waits_for_end
from holdfast.core.lifecycle import NewJob
from holdfast.core.record import FINISHED, Status
from holdfast.stores.sql.plan import Many, Plan, PlanContext
from holdfast.stores.sqlite.rows import SQL
from holdfast.stores.sqlite.verbs import blockers

_INSERT_BLOCKER = SQL["insert_blocker"]


class BlockerState(NamedTuple):
    """What the blockers of a job mean for it."""

    open_blockers: int
    broken: str | None = None
    """A blocker because of which the job fails at once."""
    cancelled: bool = False
    """Whether the job is cancelled at once: it waits for a failure, and all blockers completed."""


def wait_for(job: NewJob) -> Plan[BlockerState]:
    """What the blockers of a job mean for it. A job that ends at once is blocked before."""
    if not job.after:
        return BlockerState(0)
    statuses = yield from blockers.statuses(job.after)
    open_blockers = [chain_id for chain_id in job.after if statuses[chain_id] != Status.COMPLETED]
    left, status = len(open_blockers), Status.BLOCKED
    if waits_for_end(job.on_blocker_failure):
        status, left = waiting_status(job.on_blocker_failure, statuses.values())
    broken = [chain_id for chain_id in open_blockers if statuses[chain_id] in FINISHED]
    cancelled = status is Status.CANCELLED
    failing = broken[0] if broken and job.on_blocker_failure == "fail" else None
    return BlockerState(1 if cancelled else left, failing, cancelled)


def name_blockers(job_id: str, after: Sequence[str]) -> Plan[None]:
    """Let a job wait for these chains."""
    if after:
        yield Many(_INSERT_BLOCKER, [(job_id, position, chain_id) for position, chain_id in enumerate(after)])


def end_at_once(context: PlanContext, job: NewJob, waiting: BlockerState) -> Plan[None]:
    """Fail or cancel the job if its blockers say so."""
    if waiting.cancelled:
        yield from blockers.cancel_waiting(context, job.id, job.chain_id, job.type)
        yield from blockers.broken(context, job.chain_id)
    if waiting.broken is not None:
        yield from blockers.fail_with(context, job, waiting.broken)
        yield from blockers.broken(context, job.chain_id)
