"""9: nothing early, by the store's own word and by what the caller asked for."""

from __future__ import annotations

from torture.checker import execution
from torture.checker.execution import TICK
from torture.checker.telling import ends, is_claim, story
from torture.checker.verdict import Tally
from torture.evidence import Evidence


def never_early(evidence: Evidence) -> Tally:
    """9. No claim before the time a job is scheduled for, which is as late as was asked for, unless it was hurried."""
    tally = execution.never_early(evidence)
    hurried = {call.args["chain"] for call in evidence.called("run_now") if call.outcome != "fail"}
    delayed = 0
    for call in evidence.called("start"):
        for asked in call.args["ids"] if "delay" in call.args else ():
            changes = evidence.by_job.get(asked, [])
            first = next((each for each in changes if is_claim(each) or ends(each)), None)
            if first is None or ends(first) or asked in hurried:
                continue  # one that was cancelled before is due at once when it is retried
            delayed += 1
            early = call.begun + call.args["delay"] * 1e6 - first.at
            reported = f"{asked}: claimed {early / 1e6:.3f} s before the time that was asked for: {story(changes)}"
            tally.expect(early <= TICK, reported)
    tally.counts["delays kept"] = delayed
    if not delayed and evidence.facts.timely:
        tally.opportunities = 0  # a long run has some; without, the only times are those that the store made up
    return tally
