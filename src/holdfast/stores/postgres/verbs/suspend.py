"""Suspend jobs: end attempts that sleep or wait for messages."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.lifecycle import Settlement
from holdfast.core.steps import NEVER
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs.settle_statements import aheads
from holdfast.stores.sql.plan import Statement

_SUSPEND = SQL["suspend"]


def suspended(context: PlanContext, settlements: Sequence[Settlement]) -> Statement:
    """The statement that ends attempts that sleep or wait for messages."""
    waits = [(each.claim.job_id, wait) for each in settlements for wait in each.waits]
    return Statement(
        _SUSPEND,
        {
            "now": context.clock,
            "never": NEVER,
            "ids": [each.claim.job_id for each in settlements],
            "tokens": [each.claim.token for each in settlements],
            "aheads": aheads(settlements),
            "wait_jobs": [job_id for job_id, _ in waits],
            "wait_names": [wait.name for _, wait in waits],
            "wait_eaches": [wait.each for _, wait in waits],
            "wait_kinds": [wait.kind for _, wait in waits],
            "wait_numbers": [wait.number for _, wait in waits],
            "wait_attempts": [wait.attempt for _, wait in waits],
            "wait_epochs": [wait.epoch for _, wait in waits],
            "wait_delays": [wait.delay for _, wait in waits],
            "wait_ats": [wait.at for _, wait in waits],
        },
    )
