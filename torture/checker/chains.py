"""12 to 14: chains, blockers, deduplication."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from torture.audit import Change
from torture.checker.duplicates import check_duplicates
from torture.checker.execution import TICK
from torture.checker.transitions import FINISHED, UNFINISHED, ends, is_claim, timeline
from torture.checker.verdict import Tally
from torture.evidence import Evidence

TIE = 100_000
"""Microseconds between the ends of a job's last two blockers for it to count as a tie."""
TOGETHER = 250_000
"""Microseconds between two writes of one transaction, at the most, where the audit does not name transactions."""


def chains_whole(evidence: Evidence) -> Tally:
    """12. A continuation exists if and only if the job before it completed with one; at most one job is unfinished."""
    tally = Tally()
    for chain, changes in evidence.by_chain.items():
        created = [change for change in changes if change.before is None]
        indexes = [change.index for change in created]
        if len(created) > 1:
            whole = indexes == list(range(len(indexes)))
            tally.expect(whole, f"chain {chain} has jobs {indexes}", by_audit=True)
            _check_together(tally, evidence, changes)
        rows = [row for row in (evidence.rows.get(change.id) for change in created) if row is not None]
        rows.sort(key=lambda row: row.index)
        for row in rows[:-1]:
            tally.expect(row.status == "completed", f"chain {chain} continued after job {row.index}, {row.status}")
        if rows and rows[-1].status == "completed" and rows[-1].output is None:
            tally.broken(f"chain {chain} ends at job {rows[-1].index}, whose continuation is missing")
    return tally


def _check_together(tally: Tally, evidence: Evidence, changes: list[Change]) -> None:
    """A continuation is created in the transaction that completes the job before it."""
    ended = [change for change in changes if change.after == "completed" and change.before != "completed"]
    completed = {change.index: change for change in ended}
    for change in changes:
        if change.before is None and change.index:
            before = completed.get(change.index - 1)
            together = before is not None and _together(evidence, before, change)
            reported = f"chain {change.chain}: job {change.index} was not written with the end of the one before"
            tally.expect(together, f"{reported}: {timeline(changes)}", by_audit=True)


def _together(evidence: Evidence, end: Change, other: Change) -> bool:
    """Whether both were written in one transaction.

    Without transaction ids in the audit (SQLite) there is one writer at a time: the two changes are close in time, or
    adjacent in the audit, because a slow writer blocks all others.
    """
    if end.tx is not None:
        return end.tx == other.tx
    first, last = sorted((end.at, other.at))
    apart = last - first - evidence.still(end.worker_before or "", first, last)
    neighbours = abs(end.seq - other.seq) == 1
    return apart <= (evidence.facts.slack * 1e6 if neighbours else TOGETHER)


def blockers_hold(evidence: Evidence) -> Tally:
    """13. A blocked job becomes pending when its last blocker completes, not earlier and not later."""
    tally = Tally()
    after: dict[str, list[str]] = {}
    for call in evidence.called("start"):
        after |= call.args.get("after", {})
    done = {chain: end for chain, changes in evidence.by_chain.items() if (end := _completion(changes)) is not None}
    ties = 0
    for job_id, chains in after.items():
        changes = evidence.by_job.get(job_id)
        if not changes:
            continue
        ended = [done.get(chain) for chain in chains]
        for claim in filter(is_claim, changes):
            early = [chain for chain, end in zip(chains, ended, strict=True) if end is None or end.seq > claim.seq]
            tally.expect(not early, f"{job_id} started before its blockers {early}: {timeline(changes)}", by_audit=True)
        _check_unblocked(tally, evidence, chains, changes)
        last = sorted((end for end in ended if end is not None), key=lambda end: end.at)[-2:]
        ties += len(last) == 2 and _tied(*last)
        row = evidence.rows.get(job_id)
        if row is None or row.status != "blocked":
            continue
        tally.expect(not all(ended), f"{job_id} is blocked though all its blockers completed: {timeline(changes)}")
        # After an operator's retry it is blocked again, whatever its policy is.
        if row.on_blocker_failure == "fail" and not any(change.before == "failed" for change in changes):
            broken = [chain for chain in chains if _broken(evidence, chain)]
            tally.expect(not broken, f"{job_id} should have failed with its blockers {broken}: {timeline(changes)}")
    tally.counts["ties"] = ties
    if not ties:
        tally.opportunities = 0  # no two blockers ended at the same time: the race did not happen
    return tally


def _tied(one: Change, other: Change) -> bool:
    """Whether two workers ended these at about the same time in two transactions."""
    apart = one.tx != other.tx if one.tx is not None else other.at - one.at > TICK
    return apart and other.at - one.at < TIE and one.worker_before != other.worker_before


def _check_unblocked(tally: Tally, evidence: Evidence, chains: list[str], changes: list[Change]) -> None:
    """A job is unblocked, or fails, in the transaction that ended its blocker.

    If the blocker had failed before, the job fails in the transaction that creates it.
    """
    ended = [each for chain in chains for each in evidence.by_chain.get(chain, []) if ends(each)]
    failed = [end for end in ended if end.after in ("failed", "cancelled")]
    created = [each for each in changes if each.before is None and any(end.seq < each.seq for end in failed)]
    for change in changes:
        unblocked = change.before == "blocked" and change.after in ("pending", "failed")
        causes = ended + created if change.after == "failed" else ended
        if unblocked and not any(_together(evidence, cause, change) for cause in causes):
            reported = f"{change.id} became {change.after} apart from the end of its blockers: {timeline(changes)}"
            tally.broken(reported, by_audit=True)


def _completion(changes: list[Change]) -> Change | None:
    """The change that completed a chain: the completion of its last job."""
    if changes[-1].after is None and all(change.after != "completed" for change in changes):
        return None
    last = max(change.index for change in changes)
    return next((each for each in changes if each.index == last and each.after == "completed"), None)


def _broken(evidence: Evidence, chain: str) -> bool:
    rows = [evidence.rows[change.id] for change in evidence.by_chain.get(chain, []) if change.id in evidence.rows]
    return bool(rows) and max(rows, key=lambda row: row.index).status in ("failed", "cancelled")


def one_per_key(evidence: Evidence) -> Tally:
    """14. There are never two unfinished chains with one type and key; of concurrent starts, one creates the chain."""
    tally = Tally()
    retried = {call.args["job"] for call in evidence.called("retry") if call.outcome != "fail"}
    lives: dict[tuple[str, str], list[tuple[int, int, str]]] = defaultdict(list)
    for chain, changes in evidence.by_chain.items():
        first = changes[0]
        if first.before is None and first.key is not None and first.type == "keyed" and chain not in retried:
            lives[first.type, first.key].append((first.seq, _end(changes), chain))
    for (type, key), spans in lives.items():
        spans.sort()
        for (_, end, one), (begin, _, other) in pairwise(spans):
            if begin < end:
                tally.broken(f"{type} {key}: {other} was created while {one} was unfinished", by_audit=True)
    makers: dict[str, int] = defaultdict(int)
    for call in evidence.called("start"):
        if call.outcome == "ok" and call.args.get("keyed"):
            for found, deduplicated in zip(call.facts["found"], call.facts["deduplicated"], strict=True):
                tally.opportunities += deduplicated
                makers[found] += not deduplicated
    for chain, times in makers.items():
        if times > 1:
            tally.broken(f"{chain}: {times} callers got it as a new chain")
    check_duplicates(tally, evidence)
    return tally


def _end(changes: list[Change]) -> int:
    """The position in the audit at which a chain was finished or deleted; a very large number if it was not."""
    open_jobs: set[str] = set()
    for change in changes:
        if change.after in UNFINISHED:
            open_jobs.add(change.id)
        elif change.after is None or change.after in FINISHED:
            open_jobs.discard(change.id)
    if open_jobs:
        return 1 << 62
    return max(change.seq for change in changes if change.before in UNFINISHED and change.after not in UNFINISHED)
