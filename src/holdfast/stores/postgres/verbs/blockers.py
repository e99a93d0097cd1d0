"""The chains that jobs to be created wait for."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from holdfast.core.lifecycle import NewJob
from holdfast.errors import ChainNotFound
from holdfast.stores.postgres.verbs import chains
from holdfast.stores.sql.plan import Plan


def named(jobs: Iterable[NewJob]) -> list[str]:
    """The chains that these jobs wait for."""
    return list(dict.fromkeys(chain_id for job in jobs for chain_id in job.after))


def endings_of(jobs: Iterable[NewJob]) -> list[chains.Ending]:
    """How the chains may end with these continuations: one may find that a chain it waits for has failed."""
    return ["failing"] if any(job.after and job.on_blocker_failure == "fail" for job in jobs) else []


def missing(job: NewJob, made: Collection[str]) -> Plan[ChainNotFound | None]:
    """The first of a job's blockers that does not exist, nor is made in the same step."""
    if not job.after:
        return None
    known = yield from chains.tails(dict.fromkeys(job.after))
    unknown = (chain_id for chain_id in job.after if chain_id not in known and chain_id not in made)
    return next((ChainNotFound(chain_id) for chain_id in unknown), None)
