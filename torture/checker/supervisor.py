"""25: the supervisor and its processes."""

from __future__ import annotations

import re
from bisect import bisect_left

from torture.checker.transitions import is_claim, is_reap, timeline
from torture.checker.verdict import Tally
from torture.evidence import Evidence
from torture.history import Note

SOON = 500_000
"""Microseconds in which a supervisor with a known backlog would have scaled."""
LEASES = 2
"""An outage within this many leases before the drain may have prevented renewals."""


def processes_follow(evidence: Evidence) -> Tally:
    """25. The number of processes has limits, processes are drained, and an unknown backlog changes nothing."""
    if not evidence.facts.supervised:
        return Tally(reason="no supervisor takes part in this profile")
    tally = Tally()
    came = sorted(each.at for each in evidence.changes if each.before is None and each.type == "elastic")
    unknown: Note | None = None
    held: set[int] = set()
    tempted: set[int] = set()
    for note in evidence.noted("processes"):
        facts = note.facts
        tally.expect(facts["living"] <= facts["most"], f"{facts['living']} processes of at most {facts['most']}")
        tally.expect(
            facts["least"] <= facts["target"] <= facts["most"],
            f"{facts['target']} wanted, {facts['least']} to {facts['most']} allowed",
        )
        unknown = None if facts["known"] else unknown or note
        if unknown is not None and unknown is not note:
            same = facts["target"] == unknown.facts["target"]
            tally.expect(same, "it scaled while the backlog was unknown")
            if note.at - unknown.at >= SOON:
                held.add(unknown.at)
            if bisect_left(came, note.at - SOON) > bisect_left(came, unknown.at):
                tempted.add(unknown.at)
    tally.counts["times that the backlog was unknown for long"] = len(held)
    tally.counts["with more to do meanwhile"] = len(tempted)
    reported = evidence.noted("supervisor")
    scaled = [note for note in reported if note.facts["kind"] == "scaled"]
    tally.counts["scaled"] = len(scaled)
    tally.counts["died"] = sum(note.facts["kind"] == "process_died" for note in reported)
    drained = {note.facts["worker"]: note for note in reported if note.facts["kind"] == "process_draining"}
    tally.counts["drained"] = len(drained)
    _check_drains(tally, evidence, drained)
    for note in evidence.noted("supervisor exit"):
        tally.expect(note.facts["code"] == 0, f"the supervisor ended with {note.facts['code']}")
    if not scaled or not drained or not tempted:
        # It never scaled, never drained a process, or always knew the backlog.
        tally.opportunities = 0
    return tally


def _check_drains(tally: Tally, evidence: Evidence, drained: dict[str, Note]) -> None:
    """A job that ran when its process began to drain ends there; it is not reaped."""
    killed = {note.facts["victim"] for note in evidence.noted("fault") if note.facts["kind"] == "supervised kill"}
    for job_id, changes in evidence.by_job.items():
        if changes[0].type != "elastic":
            continue
        for change in changes:
            let_go = drained.get(change.worker_before or "")
            if is_reap(change) and let_go is not None and change.at > let_go.at:
                pid = re.search(r"process (\d+)", let_go.facts["detail"])
                excused = pid is not None and pid[1] in killed
                # Its leases may have expired before, during an outage of the store.
                lost = evidence.away(let_go.at - LEASES * round(evidence.facts.lease * 1e6), change.at) > 0
                tally.expect(excused or lost, f"{job_id}: reaped after its process was drained: {timeline(changes)}")
            tally.opportunities += is_claim(change)
