"""Delete chains: by hand, or past their keep time."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import StillReferenced
from holdfast.operations import Delete, Prune
from holdfast.sql.plan import Plan, Statement
from holdfast.stores.postgres import chains
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.turn import Turn

_CASCADE = SQL["cascade"]
_CHAIN_JOBS = SQL["chain_jobs"]
_LOCK = SQL["lock_jobs"]
_WAITING = SQL["waiting"]
_DELETE = SQL["delete"]
_EXPIRED = SQL["prune_expired"]
_PRUNE_KEYS = SQL["prune_keys"]
_PRUNE_TALLY = SQL["prune_tally"]


def delete(turn: Turn, op: Delete) -> Plan[list[str]]:
    yield from turn.begin()
    doomed, seqs = yield from _hold(list(dict.fromkeys(op.chain_ids)), op.cascade)
    if not doomed:
        return []
    # Nobody can begin to wait for a chain whose last job we hold, so what is found now stays true.
    waiting = yield from _waiting(doomed)
    inside = set(doomed)
    stranded = [
        (chain, job) for chain in doomed for job, its_chain in waiting.get(chain, ()) if its_chain not in inside
    ]
    if stranded:
        raise StillReferenced(stranded)
    yield from _remove(turn, doomed, seqs)
    return doomed


def prune(turn: Turn, op: Prune) -> Plan[list[str]]:
    yield from turn.begin()
    expired = [chain_id for (chain_id,) in (yield Statement(_EXPIRED, {"now": turn.now, "limit": op.limit}))]
    if expired:
        waiting = yield from _waiting(expired)
        expired = [
            chain_id for chain_id in expired if all(its_chain == chain_id for _, its_chain in waiting.get(chain_id, ()))
        ]
        expired, seqs = yield from _hold_free(expired)
        yield from _remove(turn, expired, seqs)
    yield Statement(_PRUNE_KEYS, {"now": turn.now})
    yield Statement(_PRUNE_TALLY)
    return expired


def _hold(chain_ids: Sequence[str], cascade: bool) -> Plan[tuple[list[str], list[int]]]:
    """Those of these chains that there are, with their blockers on request, and every job of theirs, locked.

    All of them at once and in order. Who waited for a lock looks again at what the chains are by now.
    """
    held: set[int] = set()
    while True:
        known = yield from chains.tails(chain_ids)
        doomed = [chain_id for chain_id in chain_ids if chain_id in known]
        if cascade:
            doomed = yield from _with_blockers(doomed)
        seqs = sorted(seq for seq, _ in (yield Statement(_CHAIN_JOBS, {"chain_ids": doomed}))) if doomed else []
        if held.issuperset(seqs):
            return doomed, seqs
        yield Statement(_LOCK, {"seqs": seqs})
        held.update(seqs)


def _hold_free(chain_ids: Sequence[str]) -> Plan[tuple[list[str], list[int]]]:
    """Those of these chains of which nobody else holds a job, and every job of theirs, locked."""
    jobs: dict[int, str] = dict((yield Statement(_CHAIN_JOBS, {"chain_ids": list(chain_ids)}))) if chain_ids else {}
    held = yield from chains.hold_free(jobs)
    busy = {chain_id for seq, chain_id in jobs.items() if seq not in held}
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
    doomed = list(chain_ids)
    for chain_id in doomed:  # grows as it is walked
        doomed += [blocker for blocker in dict.fromkeys(named[chain_id]) if blocker not in doomed]
    return doomed


def _waiting(chain_ids: Sequence[str]) -> Plan[dict[str, list[tuple[str, str]]]]:
    """The unfinished jobs, each with its chain, that name these chains."""
    waiting: dict[str, list[tuple[str, str]]] = {}
    for chain_id, job_id, its_chain, _ in (yield Statement(_WAITING, {"chain_ids": list(chain_ids)})):
        waiting.setdefault(chain_id, []).append((job_id, its_chain))
    return waiting


def _remove(turn: Turn, chain_ids: Sequence[str], seqs: Sequence[int]) -> Plan[None]:
    for row in (yield Statement(_DELETE, {"seqs": list(seqs), "chain_ids": list(chain_ids)})):
        id, chain_id, type, attempt, worker, status = row
        if status == "running":
            turn.hints.lost.add(id)
        turn.record("deleted", id, chain_id, type, attempt, worker)
    turn.hints.finished.update(chain_ids)
    yield from turn.recorded()
