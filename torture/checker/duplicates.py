"""A start that was answered with another chain than its own: one of that type and key that had not ended by then."""

from __future__ import annotations

from torture.audit import Change
from torture.checker.execution import TICK
from torture.checker.telling import UNFINISHED, story
from torture.checker.verdict import Tally
from torture.evidence import Evidence
from torture.history import Call


def check_duplicates(tally: Tally, evidence: Evidence) -> None:
    """Of each start that found another chain: it is a fitting one, and was unfinished at some time within the call."""
    known = {
        (note.facts["job"], note.facts["token"]): note.at for note in evidence.noted("settled") if note.facts["written"]
    }
    for call in evidence.called("start"):
        if call.outcome != "ok":
            continue
        for asked, found in zip(call.args["ids"], call.facts["found"], strict=True):
            changes = evidence.by_chain.get(found)
            if found == asked or not changes:
                continue  # its own; or lost, which is another invariant's
            if not _fits(call, changes[0]):
                wanted, got = call.args.get("type"), changes[0]
                tally.broken(f"start of {asked} ({wanted}) was told of {found} ({got.type}, key {got.key})")
            end = _over(changes, call)
            if end is not None and _certainly(evidence, end, call, known.get((end.id, end.token or ""))):
                tally.broken(f"start of {asked} was told of {found}, which had ended before: {story(changes)}")


def _fits(call: Call, first: Change) -> bool:
    same_type = first.type == call.args.get("type", first.type)
    return same_type and first.key is not None and first.key == call.args.get("key", first.key)


def _over(changes: list[Change], call: Call) -> Change | None:
    """The change that ended a chain before a call began, if nothing of it was unfinished from then to its answer."""
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
    """Whether others could see that end when the call began. It is written before its transaction commits.

    That it had, its worker knew at some time. Where nobody lived to tell, a commit takes no longer than any call.
    """
    if known is not None:
        return known < call.begun
    waited = call.begun - end.at - evidence.still(end.worker_before or "", end.at, call.begun)
    return waited > evidence.facts.slack * 1e6
