"""The blockers of new jobs: the chains that they wait for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from holdfast.core.blocker_rules import WHEN_FAILED, waiting_status, waits_for_end
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


class BlockerState(NamedTuple):
    """What the blockers of a new job mean for it."""

    status: str
    open_blockers: int
    broken: str | None
    """A blocker because of which the job fails at once."""
    cancelled: bool
    """Whether the job is cancelled at once: it waits for a failure, and all blockers completed."""


def wait_for(job: NewJob, statuses: Mapping[str, str]) -> BlockerState:
    """The status of a job with these blockers. A job that ends at once is blocked before."""
    left = [chain_id for chain_id in job.after if statuses[chain_id] != "completed"]
    ended = [chain_id for chain_id in left if statuses[chain_id] in ("failed", "cancelled")]
    status, count = "blocked" if left else "pending", len(left)
    if job.after and waits_for_end(job.on_blocker_failure):
        status, count = waiting_status(job.on_blocker_failure, [statuses[id] for id in dict.fromkeys(job.after)])
    if status == "cancelled":
        return BlockerState(status, 1, None, cancelled=True)
    if ended and job.on_blocker_failure == "fail":
        return BlockerState("failed", count, ended[0], cancelled=False)
    return BlockerState(status, count, None, cancelled=False)


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
    """The error for the first blocker of another type than its job needs. All of them exist, or are in `made`."""
    typed = [job for job in jobs if job.blocker_types]
    if not typed:
        return None
    stored = yield from chains.read(chain_ids(typed))
    types = {**made, **{chain_id: chain.first.type for chain_id, chain in stored.items()}}
    return next((error for job in typed if (error := wrong_blocker(job, types)) is not None), None)
