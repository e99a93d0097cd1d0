"""Whether a handler is told the right reason when its worker finds, after a freeze, that another has its job."""

from __future__ import annotations

from torture.checker.verdict import Tally
from torture.evidence import Evidence

FEWEST = 2
"""Attempts with the reason "error", although the job was taken, that a busy machine may explain."""
BEFORE = 1_000_000
"""Microseconds before an abort in which trouble with the store explains the reason "error": then the store is asked."""
SLOW = "settling: not written within"
"""An event that a freeze causes by itself: for the worker that wakes up, the time of its settlement has passed."""


def check_reasons(tally: Tally, evidence: Evidence) -> None:
    """At least three in four attempts that are aborted after their claim has ended get the reason.

    A single one may get "error" where the store does not answer promptly.
    """
    ended: dict[tuple[str, str], int] = {}
    for change in evidence.changes:
        if change.token_before is not None and (change.after != "running" or change.token != change.token_before):
            ended.setdefault((change.id, change.token_before), change.at)
    troubles = [
        (note.process, note.at)
        for note in evidence.noted("event")
        if note.facts["kind"] == "store_error" and not note.facts["detail"].startswith(SLOW)
    ]
    reported = 0
    wrong: list[str] = []
    for note in evidence.noted("aborted"):
        job_id, token, reason = note.facts["job"], note.facts["token"], note.facts["reason"]
        if ended.get((job_id, token), note.at) >= note.at or reason in ("shutdown", "timeout"):
            continue
        if reason != "error":
            reported += 1
        elif not evidence.away(note.at - BEFORE, note.at) and not any(
            process == note.process and abs(at - note.at) < BEFORE for process, at in troubles
        ):
            wrong.append(f"{job_id}: the handler of {token[:6]} was aborted with 'error' after its claim had ended")
    tally.counts["aborted with the reason"] = reported
    tally.counts["aborted without the reason"] = len(wrong)
    if evidence.facts.timely and len(wrong) >= FEWEST and 3 * len(wrong) >= reported:
        for each in wrong:
            tally.broken(each)
