"""25 and 33: the supervisor and its processes, and what is shown or ordered at the edges."""

from __future__ import annotations

import re
from bisect import bisect_left

from torture.checker.telling import is_claim, is_reap, story
from torture.checker.verdict import Tally
from torture.evidence import Evidence
from torture.history import Note

SOON = 500_000
"""Microseconds in which a supervisor that knows what is due would have scaled."""
LEASES = 2
"""How long before, in leases, what kept a process from renewing still matters."""


def processes_follow(evidence: Evidence) -> Tally:
    """25. As many processes as allowed; those let go of are drained; nothing changes while the backlog is unknown."""
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
            tally.expect(same, "it scaled while nobody knew what was due")
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
        # It was never asked to change anything, or never to let go of anything, or always knew what there was to do.
        tally.opportunities = 0
    return tally


def _check_drains(tally: Tally, evidence: Evidence, drained: dict[str, Note]) -> None:
    """A job that ran when its process was let go of came to its end there; it was not taken back."""
    killed = {note.facts["victim"] for note in evidence.noted("fault") if note.facts["kind"] == "supervised kill"}
    for job_id, changes in evidence.by_job.items():
        if changes[0].type != "elastic":
            continue
        for change in changes:
            let_go = drained.get(change.worker_before or "")
            if is_reap(change) and let_go is not None and change.at > let_go.at:
                pid = re.search(r"process (\d+)", let_go.facts["detail"])
                excused = pid is not None and pid[1] in killed
                # What it held may have run out before, while the store was away.
                lost = evidence.away(let_go.at - LEASES * round(evidence.facts.lease * 1e6), change.at) > 0
                tally.expect(excused or lost, f"{job_id}: cut short by letting its process go: {story(changes)}")
            tally.opportunities += is_claim(change)


def nothing_taken_for_more(evidence: Evidence) -> Tally:
    """33. Nobody changes anything without being allowed to, and no byte of a payload is shown as more than text."""
    tally = Tally()
    for note in evidence.noted("probe"):
        facts = note.facts
        asked = f"{facts['method']} {facts['target']}"
        tally.expect(facts["allowed"], f"{asked} was answered with {facts['status']}")
        tally.expect(facts["clean"], f"{asked} was answered with what it sent")
    hostile = [row for row in evidence.facts.rows if row.type == "hostile"]
    for note in evidence.noted("render"):
        facts = note.facts
        tally.expect(not facts["raw"], f"`{facts['command']}` let {facts['raw']} through")
        tally.expect(facts["code"] == 0, f"`{facts['command']}` ended with {facts['code']}")
    for row in hostile:
        tally.expect(row.status in ("completed", "failed", "cancelled"), f"{row.id}: hostile text left it {row.status}")
    tally.counts["hostile jobs"] = len(hostile)
    tally.counts["shown"] = len(evidence.noted("render"))
    tally.counts["asked"] = len(evidence.noted("probe"))
    if not hostile:
        tally.opportunities = 0
    return tally
