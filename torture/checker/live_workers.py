"""The list of live workers: it contains the workers that run, each once, and none that has ended."""

from __future__ import annotations

from torture.checker.verdict import Tally
from torture.evidence import Evidence


def check_live_workers(tally: Tally, evidence: Evidence) -> None:
    """Check the lists that were read around the end of the run. They count as no opportunity for the shutdown."""
    live = evidence.facts.live
    tally.counts["workers listed at the end"] = len(live.listed)
    for ids in (live.listed, live.after_end, live.after_gone):
        for id in {id for id in ids if ids.count(id) > 1}:
            tally.broken(f"{id} is listed more than once")
    for id in live.existing:
        if id not in live.listed:
            tally.broken(f"{id} runs and is not listed as a live worker")
    clean = {note.facts["worker"] for note in evidence.noted("exit") if note.facts["code"] == 0}
    for id in live.after_end:
        if id in live.existing and id in clean:
            tally.broken(f"{id} has stopped and is still listed as a live worker")
    for id in live.after_gone:
        tally.broken(f"{id} is listed as a live worker 91 s after the end")
