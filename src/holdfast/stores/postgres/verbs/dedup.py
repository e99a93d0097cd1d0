"""Deduplication: finds the existing chain for a start, by its id or its key, and locks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from holdfast.core.lifecycle import NewJob
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs import blockers, chains, locks
from holdfast.stores.sql.plan import Statement

_LOCK_KEYS = SQL["lock_keys"]
_FIND_IDS = SQL["find_ids"]
_FIND_KEYS = SQL["find_keys"]
_FIND_REPLACED = SQL["find_replaced"]

_SEPARATOR = "\x1f"


def roots(ids: Iterable[str]) -> Plan[dict[str, str]]:
    """The chain of each of these jobs that exists, by job id."""
    return dict((yield Statement(_FIND_IDS, {"ids": list(ids)})))


def find(context: PlanContext, jobs: Sequence[NewJob]) -> Plan[list[str | None]]:
    """For each job, the existing chain: created earlier in the same batch, or stored. None if there is none."""
    keyed = {index: job for index, job in enumerate(jobs) if job.key is not None}
    known = yield from roots(job.id for job in jobs)
    stored = (yield from _find_keys(context, keyed)) if keyed else {}
    made: dict[tuple[str, str], list[str]] = {}
    found: list[str | None] = []
    for index, job in enumerate(jobs):
        match = known.get(job.id)
        if match is None and job.key is not None:
            same_key = made.setdefault((job.type, job.key), [])
            match = _made_before(job, same_key) or stored.get(index)
            if match is None:
                same_key.append(job.id)
        if match is None:
            known[job.id] = job.id
        found.append(match)
    return found


def find_and_lock(context: PlanContext, jobs: Sequence[NewJob]) -> Plan[list[str | None]]:
    """As `find`, with the keys locked. The last jobs of the blockers of new jobs are locked as kept."""
    keys = lock_keys(context, jobs)
    if not any(job.after for job in jobs):
        if keys is not None:
            yield from keys()
        return (yield from find(context, jobs))

    def find_with_blockers() -> Plan[tuple[list[str | None], locks.Wanted]]:
        found = yield from find(context, jobs)
        new = [job for job, chain_id in zip(jobs, found, strict=True) if chain_id is None]
        tails = yield from chains.tails(blockers.chain_ids(new))
        return found, locks.Wanted([], [tail.seq for tail in tails.values()])

    return (yield from locks.lock(context, find_with_blockers, keys=keys))


def lock_keys(context: PlanContext, jobs: Iterable[NewJob]) -> Callable[[], Plan[None]] | None:
    """A plan that locks the keys of new jobs; None if they have no key. Keys are always locked before jobs."""
    pairs = sorted({(job.type, job.key) for job in jobs if job.key is not None})
    if not pairs:
        return None
    types, keys = [type for type, _ in pairs], [key for _, key in pairs]

    def hold() -> Plan[None]:
        yield Statement(_LOCK_KEYS, {"types": types, "keys": keys, "now": context.now})

    return hold


def _find_keys(context: PlanContext, keyed: dict[int, NewJob]) -> Plan[dict[int, str]]:
    """The newest chain in the dedup scope of each job, by the index of the job."""
    indexes, jobs = list(keyed), list(keyed.values())
    rows = yield Statement(
        _FIND_KEYS,
        {
            "now": context.now,
            "types": [job.type for job in jobs],
            "keys": [job.key for job in jobs],
            "sinces": [None if job.window is None else context.now - job.window for job in jobs],
            "scopes": [job.dedup for job in jobs],
            "excludes": [_SEPARATOR.join(job.exclude) or None for job in jobs],
        },
    )
    found: dict[int, str] = {indexes[number - 1]: chain_id for number, chain_id in rows}
    if context.unsure:
        parameters = {"ids": [job.id for job in jobs], "types": [job.type for job in jobs]}
        rows = yield Statement(_FIND_REPLACED, {**parameters, "keys": [job.key for job in jobs]})
        found |= {indexes[number - 1]: chain_id for number, chain_id in rows}
    return found


def _made_before(job: NewJob, made: Sequence[str]) -> str | None:
    if job.window is not None and job.window <= 0:
        return None
    return next((chain_id for chain_id in reversed(made) if chain_id not in job.exclude), None)
