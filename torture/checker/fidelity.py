"""20: payloads, as they come back."""

from __future__ import annotations

from torture import payloads
from torture.checker.telling import ends, is_reap, story
from torture.checker.verdict import Tally
from torture.evidence import Evidence
from torture.history import Call


def payloads_exact(evidence: Evidence) -> Tally:
    """20. What was given comes back the same, or is refused with a typed error before anything is written."""
    tally = Tally()
    met: set[str] = set()
    for call in evidence.called("echo"):
        value = call.args["value"]
        if call.outcome == "ok":
            tally.expect(call.facts["equal"], f"{value} came back as {call.facts['got']}")
            met.add(value)
        elif call.outcome == "fail" and not _bad_luck(evidence, call):
            tally.expect(False, f"{value} was met with {call.facts.get('error')}: {_emit(evidence, call)}")
    for call in evidence.called("refuse"):
        if call.outcome == "ok":
            tally.expect(
                call.facts["error"] == "PayloadRefused", f"{call.args['value']} was met with {call.facts['error']}"
            )
            met.add(call.args["value"])
    for row in evidence.facts.rows:
        if row.type == "vague":
            tally.expect(
                row.status in ("failed", "cancelled"),
                f"{row.id}: an output that cannot be written left it {row.status}",
            )
    missing = [name for name in payloads.names() if name not in met]
    tally.counts["values not met"] = len(missing)
    if missing and evidence.facts.timely:
        tally.opportunities = 0  # a long run has time for each of them
    return tally


def _bad_luck(evidence: Evidence, call: Call) -> bool:
    """Whether no payload is to blame: its own time was up, or the job's workers died until its attempts were used."""
    ended = [change for change in evidence.by_chain.get(call.args.get("chain", ""), []) if ends(change)]
    return call.facts.get("error") == "WaitTimeout" or (bool(ended) and is_reap(ended[-1]))


def _emit(evidence: Evidence, call: Call) -> str:
    return story(evidence.by_chain.get(call.args.get("chain", ""), []))
