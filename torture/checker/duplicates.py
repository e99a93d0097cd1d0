"""Starts that returned an existing chain: it has the same type and key, and was unfinished during the call."""

from __future__ import annotations

from torture.audit import Change
from torture.checker.execution import TICK
from torture.checker.transitions import UNFINISHED, timeline
from torture.checker.verdict import Tally
from torture.evidence import Evidence
from torture.history import Call


def check_duplicates(tally: Tally, evidence: Evidence) -> None:
    """Check each start that returned another chain: same type and key, unfinished at some time of the call."""
    known = {
        (note.facts["job"], note.facts["token"]): note.at for note in evidence.noted("settled") if note.facts["written"]
    }
    for call in evidence.called("start"):
        if call.outcome != "ok":
            continue
        for asked, found in zip(call.args["ids"], call.facts["found"], strict=True):
            changes = evidence.by_chain.get(found)
            if found == asked or not changes:
                continue  # its own chain; or a lost one, which invariant 1 reports
            if not _fits(call, changes[0]):
                wanted, got = call.args.get("type"), changes[0]
                tally.broken(f"start of {asked} ({wanted}) returned {found} ({got.type}, key {got.key})")
            end = _over(changes, call)
            if end is not None and _certainly(evidence, end, call, known.get((end.id, end.token or ""))):
                tally.broken(f"start of {asked} returned {found}, which had ended before: {timeline(changes)}")


def _fits(call: Call, first: Change) -> bool:
    same_type = first.type == call.args.get("type", first.type)
    return same_type and first.key is not None and first.key == call.args.get("key", first.key)


def _over(changes: list[Change], call: Call) -> Change | None:
    """The change that ended a chain before the call began, if the chain stayed finished until the call returned."""
    unfinished: set[str] = set()
    end: Change | None = None
    for change in changes:
        if change.at > (call.ended or 0) + TICK:
            break
        if change.after in UNFINISHED:
            unfinished.add(change.id)
            end = None
        elif change.before in UNFINISHED:
            unfinished.discard(change.id)
            end = None if unfinished else change
    return end if end is not None and end.at < call.begun else None


def _certainly(evidence: Evidence, end: Change, call: Call, known: int | None) -> bool:
    """Whether the end was visible to others when the call began: it is written before its transaction commits.

    The commit is certain once the worker has its answer. Without an answer, assume the longest duration of a call.
    """
    if known is not None:
        return known < call.begun
    waited = call.begun - end.at - evidence.still(end.worker_before or "", end.at, call.begun)
    return waited > evidence.facts.slack * 1e6
