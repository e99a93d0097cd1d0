"""20: payloads are returned unchanged."""

from __future__ import annotations

from torture import payloads
from torture.checker.transitions import ends, is_reap, timeline
from torture.checker.verdict import Tally
from torture.evidence import Evidence
from torture.history import Call


def payloads_exact(evidence: Evidence) -> Tally:
    """20. A value is returned unchanged, or refused with a typed error before anything is written."""
    tally = Tally()
    met: set[str] = set()
    for call in evidence.called("echo"):
        value = call.args["value"]
        if call.outcome == "ok":
            tally.expect(call.facts["equal"], f"{value} came back as {call.facts['got']}")
            met.add(value)
        elif call.outcome == "fail" and not _other_cause(evidence, call):
            tally.expect(False, f"{value} failed with {call.facts.get('error')}: {_timeline_of(evidence, call)}")
    for call in evidence.called("refuse"):
        if call.outcome == "ok":
            tally.expect(call.facts["error"] == "PayloadRefused", f"{call.args['value']} got {call.facts['error']}")
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
        tally.opportunities = 0  # a long run has time for every value
    return tally


def _other_cause(evidence: Evidence, call: Call) -> bool:
    """Whether the payload is not the cause: the wait timed out, or workers died until no attempts were left."""
    ended = [change for change in evidence.by_chain.get(call.args.get("chain", ""), []) if ends(change)]
    return call.facts.get("error") == "WaitTimeout" or (bool(ended) and is_reap(ended[-1]))


def _timeline_of(evidence: Evidence, call: Call) -> str:
    return timeline(evidence.by_chain.get(call.args.get("chain", ""), []))
