"""The declared types of a job's blockers. Pure: no clock, no I/O."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.core.lifecycle import NewJob
from holdfast.errors import WrongBlockers


def wrong_blocker(job: NewJob, types: Mapping[str, str]) -> WrongBlockers | None:
    """The error for the first blocker of another type than the job needs; None if all have the right type.

    `types` has the types of the chains that the job names. The type of a chain is that of its first job, and never
    changes.
    """
    if not job.blocker_types:
        return None
    for chain_id, wanted in zip(job.after, job.blocker_types, strict=True):
        if types[chain_id] != wanted:
            return WrongBlockers.of_another_type(job.type, chain_id, types[chain_id], wanted)
    return None
