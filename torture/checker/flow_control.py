"""15, 24, 34 and 37: ticks, limits, failure hooks, rates and orders, from the audit alone.

A claim sees the end of another attempt after its commit, so in the audit the end comes before the claim. The audit is
therefore read in its own order, also where commits overlap.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime
from itertools import pairwise

from holdfast.core.clock import to_micros
from torture.audit import Change
from torture.checker.transitions import is_claim, timeline
from torture.checker.verdict import Tally
from torture.evidence import Evidence
from torture.flow_jobs import AT_ONCE, BEAT, BURST, EVERY, HOOKED, RATE
from torture.step_jobs import STEPWISE

JITTER = 0.3
"""Seconds that a commit may lie after the time that the store used for its decision."""
APART = 500_000
"""Microseconds: the order of two starts that lie closer together is not known."""
SEPARATOR = "|"
"""Ends the lane in the key of a job."""


LIMITS = {"render": AT_ONCE, "stepwise": STEPWISE}


def lane_of(change: Change) -> str | None:
    """The lane of a job with a limit or an order: its type, and the key of the lane."""
    match change.type:
        case "render" | "stepwise":
            return change.type
        case "serve" | "ordered":
            return f"{change.type} {(change.key or '').partition(SEPARATOR)[0]}"
        case _:
            return None


def limits_hold(evidence: Evidence) -> Tally:
    """24. At no commit more jobs of a lane run than its limit allows."""
    tally = Tally()
    running: dict[str, set[str]] = defaultdict(set)
    full = 0
    for change in sorted(evidence.changes, key=lambda each: each.seq):
        lane = lane_of(change)
        if lane is None:
            continue
        if change.after == "running":
            running[lane].add(change.id)
            most = LIMITS.get(lane, 1)
            full += len(running[lane]) == most
            if change.before != "running":
                reported = f"{lane}: {len(running[lane])} run at once, {most} may: {sorted(running[lane])}"
                tally.expect(len(running[lane]) <= most, reported, by_audit=True)
        else:
            running[lane].discard(change.id)
    tally.counts["full lanes"] = full
    if not full:
        tally.opportunities = 0
    return tally


def hooks_once(evidence: Evidence) -> Tally:
    """34. Each permanent failure of a type with a hook starts one chain of it, in the same transaction or script."""
    tally = Tally()
    failures: Counter[str | None] = Counter()
    hooks: Counter[str | None] = Counter()
    for change in evidence.changes:
        if change.type in HOOKED and change.after == "failed" and change.before != "failed":
            failures[change.tx] += 1
            tally.opportunities += 1
        elif change.type == "note_failure" and change.before is None:
            hooks[change.tx] += 1
    for tx in failures.keys() | hooks.keys():
        if failures[tx] != hooks[tx]:
            where = "in all transactions" if tx is None else f"in transaction {tx}"
            tally.broken(f"{failures[tx]} failures and {hooks[tx]} hooks {where}", by_audit=True)
    return tally


def rates_and_order(evidence: Evidence) -> Tally:
    """37. Attempts of a rate never exceed it, and a job of an order begins after the earlier ones have ended."""
    tally = Tally()
    _check_rate(tally, evidence)
    by_lane: dict[str, list[list[Change]]] = defaultdict(list)
    for changes in evidence.by_job.values():
        if changes[0].type == "ordered" and (lane := lane_of(changes[0])) is not None:
            by_lane[lane].append(changes)
    for lane, jobs in by_lane.items():
        jobs.sort(key=lambda changes: changes[0].seq)
        for position, changes in enumerate(jobs):
            begun = next((change for change in changes if is_claim(change)), None)
            if begun is None:
                continue
            for earlier in jobs[:position]:
                if earlier[0].at + APART < changes[0].at:
                    reported = f"{lane}: {timeline(changes)} begins before the end of {timeline(earlier)}"
                    tally.expect(_ended_by(earlier, begun.seq), reported, by_audit=True)
    return tally


def _ended_by(changes: list[Change], seq: int) -> bool:
    """Whether a job was finished or deleted at this place of the audit."""
    last = [change for change in changes if change.seq < seq][-1]
    return last.after in (None, "completed", "failed", "cancelled")


def _check_rate(tally: Tally, evidence: Evidence) -> None:
    claims = [change for change in evidence.changes if change.type == "meter" and is_claim(change)]
    # A released attempt has the same number again, and the rate counts one of the two claims.
    numbers = Counter((change.id, change.attempt) for change in claims)
    moments = sorted(change.at for change in claims if numbers[change.id, change.attempt] == 1)
    for first, begun in enumerate(moments):
        for last in range(first + BURST, min(first + 4 * RATE, len(moments))):
            allowed = BURST + ((moments[last] - begun) / 1e6 + JITTER) * RATE
            began = last - first + 1
            if began > allowed:
                tally.broken(f"{began} attempts began within {(moments[last] - begun) / 1e6:.2f} s", by_audit=True)
                return
            tally.opportunities += 1


def ticks_once(evidence: Evidence) -> Tally:
    """15. Each tick starts one chain, none is left out, and the count of the schedule agrees."""
    tally = Tally()
    prefix = f"schedule:{BEAT}:"
    made = [change for change in evidence.changes if change.before is None and change.id.startswith(prefix)]
    fired = [change for change in made if change.id.startswith(f"{prefix}fire:")]
    tally.opportunities = len(made)
    for id, times in Counter(change.id for change in made).items():
        if times > 1:
            tally.broken(f"{id} was started {times} times", by_audit=True)
    if evidence.facts.ticks is not None:
        reported = f"the schedule counts {evidence.facts.ticks} chains, and {len(made)} exist ({len(fired)} fired)"
        tally.expect(evidence.facts.ticks == len(made), reported)
    ticks = sorted(_micros(change.id.removeprefix(prefix)) for change in made if change not in fired)
    for one, other in pairwise(ticks):
        gap = (other - one) / 1e6
        tally.expect(abs(gap - EVERY) < EVERY / 2, f"no tick for {gap:.2f} s after {one}", by_audit=True)
    tally.counts["fired"] = len(fired)
    return tally


def _micros(tick: str) -> int:
    return to_micros(datetime.fromisoformat(tick))
