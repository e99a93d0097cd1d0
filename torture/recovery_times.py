"""Recovery times of a run, with their limits."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

from torture.audit import Change
from torture.checker.transitions import is_claim, is_reap
from torture.checker.waiters import LOOK_WITHOUT_WAKEUP, reported_waits
from torture.evidence import Evidence
from torture.harnesses.harness import RECOVERY
from torture.spans import Span

RESTARTS = ("server restart", "server kill", "server stop fast", "disk full", "network cut", "power lost", "failover")
Spread = dict[str, float]


class Measured(NamedTuple):
    """Times of one kind in seconds, and their limit."""

    bound: float
    seconds: list[float]
    disturbed: int = 0
    """Number of cases left out: the store was unavailable, no worker was able to work, or the process that had to send
    the wake-up died or froze."""
    whole: float = 0.0
    """The longest time, including the cases left out."""


def recoveries(evidence: Evidence) -> dict[str, Spread]:
    """Times in seconds: p50, p99, maximum, number, limit, and how many exceeded the limit."""
    return {name: spread([measured]) for name, measured in measure(evidence).items()}


def measure(evidence: Evidence) -> dict[str, Measured]:
    """How long each recovery took while the store and at least one worker were available all the time.

    Other cases are counted, and the longest is reported: to subtract the outage would make them look better than they
    were. Before a job runs again it also waits for the due jobs before it.
    """
    facts = evidence.facts
    again = facts.lease + facts.reap + facts.poll + facts.slack
    received, polling, unsent = _waits(evidence)
    idle = evidence.unattended
    return {
        "worker killed to its job running again": _measured(_after_kills(evidence), again, idle),
        "lease lost to the job reaped": _measured(_reaped(evidence), again - facts.lease, idle),
        "lease lost to the job running again": _measured(_after_leases(evidence), again - facts.lease, idle),
        "server back to the first completion": _measured(_after_restarts(evidence), RECOVERY + facts.slack),
        "chain ended to its waiter notified, with wake-ups": _measured(
            received, facts.slack, lambda begun, ended: (begun, ended) in unsent
        ),
        "chain ended to its waiter notified, without": _measured(polling, LOOK_WITHOUT_WAKEUP + facts.slack),
    }


def spread(measured: list[Measured]) -> Spread:
    """The percentiles over all rounds; empty if there was no case."""
    seconds = sorted(each for one in measured for each in one.seconds)
    if not seconds:
        return {}
    at = {"p50": len(seconds) // 2, "p99": len(seconds) * 99 // 100, "max": len(seconds) - 1}
    bound = measured[0].bound
    return {
        **{name: round(seconds[place], 3) for name, place in at.items()},
        "whole": round(max(one.whole for one in measured), 3),
        "times": len(seconds),
        "disturbed": sum(one.disturbed for one in measured),
        "bound": bound,
        "beyond": sum(each > bound for each in seconds),
    }


def _after_kills(evidence: Evidence) -> list[Span]:
    """From the death of a worker to the next claim of each job that it ran."""
    deaths: dict[str, int] = {}
    for note in evidence.notes:
        match note.what:
            case "fault" if note.facts["kind"] == "kill":
                victim = note.facts["victim"]
            case "failpoint" if note.facts["action"] == "kill":
                victim = note.process
            case "exit" if note.facts["code"] in (-9, 139):
                victim = note.facts["worker"]
            case _:
                continue
        deaths[victim] = min(note.at, deaths.get(victim, note.at))
    spans: list[Span] = []
    for changes in evidence.by_job.values():
        held: Change | None = None
        for change in changes:
            if not is_claim(change):
                held = None if change.after not in ("running", "pending") or not is_reap(change) else held
                continue
            died = deaths.get(held.worker or "") if held is not None else None
            if died is not None and held is not None and held.at <= died <= change.at:
                spans.append((died, change.at))
            held = change
    return spans


def _reaped(evidence: Evidence) -> list[Span]:
    reaps = [change for change in evidence.changes if is_reap(change) and change.type != "elastic"]
    return [(change.leased_before, change.at) for change in reaps if change.leased_before is not None]


def _after_leases(evidence: Evidence) -> list[Span]:
    spans: list[Span] = []
    for changes in evidence.by_job.values():
        expired: int | None = None
        for change in changes:
            if is_reap(change):
                expired = change.leased_before
            elif is_claim(change) and expired is not None:
                spans.append((expired, change.at))
                expired = None
    return spans


def _after_restarts(evidence: Evidence) -> list[Span]:
    completions = sorted(change.at for change in evidence.changes if change.after == "completed")
    spans: list[Span] = []
    for note in evidence.noted("fault"):
        back = note.facts.get("back")
        if back is not None and note.facts["kind"] in RESTARTS:
            place = bisect_left(completions, back)
            if place < len(completions):
                spans.append((back, completions[place]))
    return spans


def _waits(evidence: Evidence) -> tuple[list[Span], list[Span], set[Span]]:
    """From the end of a chain to the return of its waiter, while the store was available.

    Returns the spans of waiters with wake-ups, of waiters without, and those of either for which no process was left
    to send a wake-up.
    """
    spans: tuple[list[Span], list[Span]] = ([], [])
    unsent: set[Span] = set()
    for wait in reported_waits(evidence):
        # A chain that ended before the wait began is found by the first read, without a wake-up.
        span = (wait.end.at, wait.answered)
        if wait.call.begun < span[0] <= span[1] and not evidence.away(*span):
            spans[wait.without_wakeups].append(span)
            if wait.unsent(evidence):
                unsent.add(span)
    return *spans, unsent


def _measured(spans: list[Span], bound: float, idle: Callable[[int, int], int] = lambda begun, ended: 0) -> Measured:
    """`idle` returns for how much of a span something that recovery needs was unavailable."""
    seconds = [(end - begin) / 1e6 for begin, end in spans if not idle(begin, end)]
    whole = max(((end - begin) / 1e6 for begin, end in spans), default=0.0)
    return Measured(bound, seconds, len(spans) - len(seconds), whole)
