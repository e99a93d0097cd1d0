"""The chain that stands for a start already: found by its id or by its key, and held."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from holdfast.core.lifecycle import NewJob
from holdfast.stores.postgres.execution import Turn
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs import blockers, chains, locks
from holdfast.stores.sql.plan import Plan, Statement

_LOCK_KEYS = SQL["lock_keys"]
_FIND_IDS = SQL["find_ids"]
_FIND_KEYS = SQL["find_keys"]

_SEPARATOR = "\x1f"


def roots(ids: Iterable[str]) -> Plan[dict[str, str]]:
    """The chains that jobs with these ids belong to, as far as there are such."""
    return dict((yield Statement(_FIND_IDS, {"ids": list(ids)})))


def find(turn: Turn, jobs: Sequence[NewJob]) -> Plan[list[str | None]]:
    """For each job, the chain it would find: made earlier in the same batch, or in the store."""
    keyed = {place: job for place, job in enumerate(jobs) if job.key is not None}
    known = yield from roots(job.id for job in jobs)
    stored = (yield from _find_keys(turn, keyed)) if keyed else {}
    made: dict[tuple[str, str], list[str]] = {}
    found: list[str | None] = []
    for place, job in enumerate(jobs):
        match = known.get(job.id)
        if match is None and job.key is not None:
            same_key = made.setdefault((job.type, job.key), [])
            match = _made_before(job, same_key) or stored.get(place)
            if match is None:
                same_key.append(job.id)
        if match is None:
            known[job.id] = job.id
        found.append(match)
    return found


def hold(turn: Turn, jobs: Sequence[NewJob]) -> Plan[list[str | None]]:
    """What each job finds, under its key, with the last jobs of the blockers of those that find nothing kept."""
    keys = keys_of(turn, jobs)
    if not any(job.after for job in jobs):
        if keys is not None:
            yield from keys()
        return (yield from find(turn, jobs))

    def look() -> Plan[tuple[list[str | None], locks.Wanted]]:
        found = yield from find(turn, jobs)
        new = [job for job, chain_id in zip(jobs, found, strict=True) if chain_id is None]
        tails = yield from chains.tails(blockers.named(new))
        return found, locks.Wanted([], [tail.seq for tail in tails.values()])

    return (yield from locks.hold(turn, look, keys=keys))


def keys_of(turn: Turn, jobs: Iterable[NewJob]) -> Callable[[], Plan[None]] | None:
    """What holds the keys of jobs to be created, if they have any. Whoever holds keys and jobs holds the keys first."""
    pairs = sorted({(job.type, job.key) for job in jobs if job.key is not None})
    if not pairs:
        return None
    types, keys = [type for type, _ in pairs], [key for _, key in pairs]

    def hold() -> Plan[None]:
        yield Statement(_LOCK_KEYS, {"types": types, "keys": keys, "now": turn.now})

    return hold


def _find_keys(turn: Turn, keyed: dict[int, NewJob]) -> Plan[dict[int, str]]:
    """The newest chain in each job's dedup scope, by the job's place."""
    places, jobs = list(keyed), list(keyed.values())
    rows = yield Statement(
        _FIND_KEYS,
        {
            "now": turn.now,
            "types": [job.type for job in jobs],
            "keys": [job.key for job in jobs],
            "sinces": [None if job.window is None else turn.now - job.window for job in jobs],
            "scopes": [job.dedup for job in jobs],
            "excludes": [_SEPARATOR.join(job.exclude) or None for job in jobs],
        },
    )
    return {places[number - 1]: chain_id for number, chain_id in rows}


def _made_before(job: NewJob, made: Sequence[str]) -> str | None:
    if job.window is not None and job.window <= 0:
        return None
    return next((chain_id for chain_id in reversed(made) if chain_id not in job.exclude), None)
