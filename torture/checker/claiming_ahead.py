"""38: jobs that are claimed ahead of free slots."""

from __future__ import annotations

from collections import Counter

from torture.checker.transitions import is_claim
from torture.checker.verdict import Tally
from torture.evidence import Evidence


def claiming_ahead(evidence: Evidence) -> Tally:
    """38. A worker never runs more handlers than it has slots, although it may hold more jobs.

    Invariant 8 covers the attempts of released jobs, and invariant 10 those of a worker that was killed.
    """
    tally = Tally()
    slots = evidence.facts.concurrency
    if not slots:
        return tally
    for note in evidence.noted("too many handlers"):
        tally.broken(f"{note.process} ran {note.facts['running']} handlers at once, with {slots} slots")
    taken = Counter((claim.token, claim.tx, claim.worker) for claim in evidence.changes if is_claim(claim))
    tally.opportunities = len(evidence.noted("handler"))
    tally.counts["claims of more jobs than slots"] = sum(number > slots for number in taken.values())
    return tally
