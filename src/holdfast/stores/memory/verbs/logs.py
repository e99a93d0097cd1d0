"""Store the logs of running attempts."""

from __future__ import annotations

from holdfast.engine.operations import LOG, SaveLogs
from holdfast.stores.memory.state import State


def save_logs(state: State, op: SaveLogs) -> None:
    for (job_id, token), log in op.logs:
        job = state.jobs.get(job_id)
        if job is not None and state.lost(job, token) is None:
            state.end_attempt(job, LOG, log)
