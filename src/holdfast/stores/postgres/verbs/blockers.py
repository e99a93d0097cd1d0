"""The blockers of new jobs: the chains that they wait for."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from holdfast.core.lifecycle import NewJob
from holdfast.errors import ChainNotFound
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.verbs import chains


def chain_ids(jobs: Iterable[NewJob]) -> list[str]:
    """The chains that these jobs wait for."""
    return list(dict.fromkeys(chain_id for job in jobs for chain_id in job.after))


def possible_endings(jobs: Iterable[NewJob]) -> list[chains.Ending]:
    """How the chain may end because of these continuations: the blocker of a continuation may already have failed."""
    return ["failing"] if any(job.after and job.on_blocker_failure == "fail" for job in jobs) else []


def missing(job: NewJob, made: Collection[str]) -> Plan[ChainNotFound | None]:
    """The error for the first blocker that does not exist and is not created in the same operation."""
    if not job.after:
        return None
    known = yield from chains.tails(dict.fromkeys(job.after))
    unknown = (chain_id for chain_id in job.after if chain_id not in known and chain_id not in made)
    return next((ChainNotFound(chain_id) for chain_id in unknown), None)
