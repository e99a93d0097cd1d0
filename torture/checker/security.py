"""33: the health endpoint accepts no changes, and commands show payloads as text."""

from __future__ import annotations

from torture.checker.verdict import Tally
from torture.evidence import Evidence


def payloads_stay_text(evidence: Evidence) -> Tally:
    """33. The endpoint accepts no changes, and no command displays a payload as anything but text."""
    tally = Tally()
    for note in evidence.noted("probe"):
        facts = note.facts
        asked = f"{facts['method']} {facts['target']}"
        tally.expect(facts["allowed"], f"{asked} was answered with {facts['status']}")
        tally.expect(facts["clean"], f"{asked} was answered with a part of the request")
    hostile = [row for row in evidence.facts.rows if row.type == "hostile"]
    for note in evidence.noted("render"):
        facts = note.facts
        tally.expect(not facts["raw"], f"`{facts['command']}` displayed {facts['raw']}")
        tally.expect(facts["code"] == 0, f"`{facts['command']}` ended with {facts['code']}")
    for row in hostile:
        tally.expect(row.status in ("completed", "failed", "cancelled"), f"{row.id}: hostile text left it {row.status}")
    tally.counts["hostile jobs"] = len(hostile)
    tally.counts["shown"] = len(evidence.noted("render"))
    tally.counts["asked"] = len(evidence.noted("probe"))
    if not hostile:
        tally.opportunities = 0
    return tally
