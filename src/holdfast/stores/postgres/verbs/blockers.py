"""The blockers of new jobs: the chains that they wait for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.core.blocker_rules import WHEN_FAILED
from holdfast.core.blocker_types import wrong_blocker
from holdfast.core.lifecycle import NewJob
from holdfast.errors import ChainNotFound, HoldfastError, WrongBlockers
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.verbs import chains


def chain_ids(jobs: Iterable[NewJob]) -> list[str]:
    """The chains that these jobs wait for."""
    return list(dict.fromkeys(chain_id for job in jobs for chain_id in job.after))


def possible_endings(jobs: Iterable[NewJob]) -> list[chains.Ending]:
    """How the chain may end because of these continuations: the blockers of a continuation may already have ended."""
    return ["failing"] if any(job.after and job.on_blocker_failure in ("fail", WHEN_FAILED) for job in jobs) else []


def refused(job: NewJob, made: Mapping[str, str]) -> Plan[HoldfastError | None]:
    """The error for a blocker that does not exist, or has another type than the job needs.

    `made` has the types of the chains that the same operation creates.
    """
    if not job.after:
        return None
    known = yield from chains.tails(dict.fromkeys(job.after))
    for chain_id in job.after:
        if chain_id not in known and chain_id not in made:
            return ChainNotFound(chain_id)
    return (yield from wrong([job], made))


def wrong(jobs: Iterable[NewJob], made: Mapping[str, str]) -> Plan[WrongBlockers | None]:
    """The error for the first blocker of another type than its job needs. All blockers exist, or are in `made`."""
    typed = [job for job in jobs if job.blocker_types]
    if not typed:
        return None
    stored = yield from chains.read(chain_ids(typed))
    types = {**made, **{chain_id: chain.first.type for chain_id, chain in stored.items()}}
    return next((error for job in typed if (error := wrong_blocker(job, types)) is not None), None)
