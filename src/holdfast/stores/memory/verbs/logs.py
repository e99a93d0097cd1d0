"""Store the logs of running attempts."""

from __future__ import annotations

from holdfast.engine.operations import LOG, StoreLogs
from holdfast.stores.memory.state import State


def store_logs(state: State, op: StoreLogs) -> None:
    for (job_id, token), log in op.logs:
        job = state.jobs.get(job_id)
        if job is not None and state.lost(job, token) is None:
            state.end_attempt(job, LOG, log)
