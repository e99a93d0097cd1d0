"""Adds the current job to log records."""

from __future__ import annotations

import logging

from holdfast.worker.running_job import use_running_job

_RUNNING_JOB = use_running_job()

KEYS = ("job_id", "chain_id", "job_type", "attempt")
_OF_EVENTS = ("holdfast_job_id", "holdfast_chain_id", "holdfast_type", "holdfast_attempt")
"""The attributes of Holdfast's own records, in the order of KEYS."""


class JobFilter(logging.Filter):
    """Sets `job_id`, `chain_id`, `job_type` and `attempt` of each record: ``handler.addFilter(JobFilter())``.

    In a handler they describe its job. In Holdfast's own records they describe the job of the event. Elsewhere they are
    None. A record that has one of them, by `extra=`, keeps it. It needs no plugin. Add it to a logging handler and not
    to a logger: the filters of a logger are not called for the records of its children.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        values: tuple[object, ...]
        if getattr(record, "holdfast_event", None) is not None:
            values = tuple(getattr(record, name, None) for name in _OF_EVENTS)
        elif (job := _RUNNING_JOB.get()) is not None:
            values = (job.id, job.chain_id, job.type, job.attempt)
        else:
            values = (None, None, None, None)
        for key, value in zip(KEYS, values, strict=True):
            vars(record).setdefault(key, value)
        return True
