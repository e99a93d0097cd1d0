"""Whether a handler gets the right abort reason when its worker detects, after a freeze, that the claim is lost."""

from __future__ import annotations

from torture.checker.verdict import Tally
from torture.evidence import Evidence

FEWEST = 2
"""From this number on, attempts with the reason "error" instead of the real one are violations: load explains one."""
BEFORE = 1_000_000
"""An error of the store within these microseconds before an abort explains the reason "error"."""
SLOW = "settling: not written within"
"""An event that the freeze itself causes: the deadline of a settlement has passed when the worker continues."""


def check_reasons(tally: Tally, evidence: Evidence) -> None:
    """At least three of four attempts that are aborted after the end of their claim get the reason.

    A single one may get "error" if the store does not answer promptly.
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
