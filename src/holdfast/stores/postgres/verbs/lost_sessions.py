"""End the sessions of lost workers whose open transactions still lock jobs with an expired lease."""

from __future__ import annotations

import logging

from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Statement

log = logging.getLogger("holdfast")

_END_LOST_ATTEMPTS = SQL["end_lost_attempts"]


def end_lost_sessions(context: PlanContext, seqs: list[int]) -> Plan[None]:
    """Terminate the sessions of lost workers that lock these expired jobs.

    The next reap returns the jobs to pending: a terminated session keeps its locks for another moment.
    """
    for job_id, pid in (yield Statement(_END_LOST_ATTEMPTS, {"seqs": seqs, "now": context.clock})):
        log.warning("terminated session %s: its worker is lost, and its transaction locked job %s", pid, job_id)
