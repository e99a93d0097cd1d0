"""Delete chains: by hand, or past their keep time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from holdfast.engine.operations import Delete, Prune
from holdfast.errors import StillReferenced
from holdfast.stores.postgres.execution import Turn
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs import chains, locks
from holdfast.stores.sql.plan import Plan, Statement

_CASCADE = SQL["cascade"]
_CHAIN_JOBS = SQL["chain_jobs"]
_DEPENDENTS = SQL["dependents"]
_DELETE = SQL["delete"]
_EXPIRED = SQL["prune_expired"]
_PRUNE_KEYS = SQL["prune_keys"]
_PRUNE_TALLY = SQL["prune_tally"]
_PRUNE_MARKS = SQL["prune_marks"]


class _Named(NamedTuple):
    """A job that names a chain as its blocker."""

    blocker: str
    id: str
    chain_id: str
    seq: int
    finished: bool


class _Doomed(NamedTuple):
    """Chains to be deleted, every job of theirs, and who is in the way."""

    chain_ids: list[str]
    seqs: list[int]
    stranded: list[tuple[str, str]]


def delete(turn: Turn, op: Delete) -> Plan[list[str]]:
    yield from turn.begin()
    deletable = yield from locks.hold(turn, lambda: _look(list(dict.fromkeys(op.chain_ids)), op.cascade))
    if deletable.stranded:
        raise StillReferenced(deletable.stranded)
    if deletable.chain_ids:
        yield from _remove(turn, deletable.chain_ids, deletable.seqs)
    return deletable.chain_ids


def prune(turn: Turn, op: Prune) -> Plan[list[str]]:
    yield from turn.begin()
    expired = [chain_id for (chain_id,) in (yield Statement(_EXPIRED, {"now": turn.now, "limit": op.limit}))]
    if expired:
        expired, seqs = yield from _hold_free(expired)
        yield from _remove(turn, expired, seqs)
    yield Statement(_PRUNE_KEYS, {"now": turn.now})
    yield Statement(_PRUNE_TALLY)
    yield Statement(_PRUNE_MARKS)
    return expired


def _look(chain_ids: Sequence[str], cascade: bool) -> Plan[tuple[_Doomed, locks.Wanted]]:
    """Those of these chains that there are, with their blockers on request, and what must be held to delete them.

    That is every job of theirs: nobody can begin to wait for them then. And the finished ones that name them, since
    what they named is forgotten, too.
    """
    known = yield from chains.tails(chain_ids)
    deletable = [chain_id for chain_id in chain_ids if chain_id in known]
    if not deletable:
        return _Doomed([], [], []), locks.Wanted([])
    if cascade:
        deletable = yield from _with_blockers(deletable)
    seqs = sorted(seq for seq, _ in (yield Statement(_CHAIN_JOBS, {"chain_ids": deletable})))
    naming = yield from _naming(deletable)
    inside = set(deletable)
    strange = [job for chain_id in deletable for job in naming.get(chain_id, ()) if job.chain_id not in inside]
    stranded = [(job.blocker, job.id) for job in strange if not job.finished]
    changed = {*seqs, *(job.seq for job in strange if job.finished)}
    return _Doomed(deletable, seqs, stranded), locks.Wanted(changed)


def _hold_free(chain_ids: Sequence[str]) -> Plan[tuple[list[str], list[int]]]:
    """Those of these chains that no unfinished job names and of which nobody else holds anything, all held now."""
    jobs: dict[int, str] = dict((yield Statement(_CHAIN_JOBS, {"chain_ids": list(chain_ids)})))
    naming = yield from _naming(chain_ids)
    held = yield from locks.hold_free({*jobs, *(job.seq for found in naming.values() for job in found if job.finished)})
    # Looked at again: a job that was finished may have been retried just before.
    naming = yield from _naming(chain_ids)
    busy = {chain_id for seq, chain_id in jobs.items() if seq not in held}
    for chain_id, found in naming.items():
        if any(job.chain_id != chain_id and not (job.finished and job.seq in held) for job in found):
            busy.add(chain_id)
    seqs = sorted(seq for seq, chain_id in jobs.items() if chain_id not in busy)
    return [chain_id for chain_id in chain_ids if chain_id not in busy], seqs


def _with_blockers(chain_ids: Sequence[str]) -> Plan[list[str]]:
    """These chains, the blockers of all of their jobs, theirs, and so on."""
    named: dict[str, list[str]] = {}
    unknown = list(chain_ids)
    while unknown:
        rows = yield Statement(_CASCADE, {"chain_ids": unknown})
        named |= {chain_id: [] for chain_id in unknown}
        for chain_id, blocker in rows:
            named[chain_id].append(blocker)
        unknown = list({blocker for _, blocker in rows} - named.keys())
    deletable = list(chain_ids)
    for chain_id in deletable:  # grows as it is walked
        deletable += [blocker for blocker in dict.fromkeys(named[chain_id]) if blocker not in deletable]
    return deletable


def _naming(chain_ids: Sequence[str]) -> Plan[dict[str, list[_Named]]]:
    """The jobs that name these chains, by chain."""
    naming: dict[str, list[_Named]] = {}
    for row in (yield Statement(_DEPENDENTS, {"chain_ids": list(chain_ids)})):
        job = _Named(*row)
        naming.setdefault(job.blocker, []).append(job)
    return naming


def _remove(turn: Turn, chain_ids: Sequence[str], seqs: Sequence[int]) -> Plan[None]:
    for row in (yield Statement(_DELETE, {"seqs": list(seqs), "chain_ids": list(chain_ids)})):
        id, chain_id, type, attempt, worker, status = row
        if status == "running":
            turn.hints.lost.add(id)
        turn.record("deleted", id, chain_id, type, attempt, worker)
    turn.hints.finished.update(chain_ids)
    yield from turn.recorded()
