"""9: no claim before the due time in the store, nor before the delay that the caller requested."""

from __future__ import annotations

from torture.checker import execution
from torture.checker.execution import TICK
from torture.checker.transitions import ends, is_claim, timeline
from torture.checker.verdict import Tally
from torture.evidence import Evidence


def never_early(evidence: Evidence) -> Tally:
    """9. No claim before the due time, which respects the requested delay unless `run_now` was called."""
    tally = execution.never_early(evidence)
    made_due = {call.args["chain"] for call in evidence.called("run_now") if call.outcome != "fail"}
    delayed = 0
    for call in evidence.called("start"):
        for asked in call.args["ids"] if "delay" in call.args else ():
            changes = evidence.by_job.get(asked, [])
            first = next((each for each in changes if is_claim(each) or ends(each)), None)
            if first is None or ends(first) or asked in made_due:
                continue  # a retry of a cancelled job is due at once
            delayed += 1
            early = call.begun + call.args["delay"] * 1e6 - first.at
            reported = f"{asked}: claimed {early / 1e6:.3f} s before the requested time: {timeline(changes)}"
            tally.expect(early <= TICK, reported)
    tally.counts["delays kept"] = delayed
    if not delayed and evidence.facts.timely:
        tally.opportunities = 0  # a long run without delayed starts did not test them
    return tally
