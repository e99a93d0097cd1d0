"""16, 17 and 19: cancel, complete from outside, keep times."""

from __future__ import annotations

from collections import defaultdict

from torture.audit import Change
from torture.checker.answer_times import by_then, during
from torture.checker.execution import TICK, spread
from torture.checker.lost_claim_notices import check_reported
from torture.checker.transitions import FINISHED, ends, is_outside, timeline
from torture.checker.verdict import Tally
from torture.evidence import Evidence
from torture.history import Call

TAKEN = ("running", "cancelled")
PRUNED_WITHIN = 9.0
"""Seconds: a worker prunes every 1 to 3 seconds here, and may be killed several times before it does."""


def cancel_is_final(evidence: Evidence) -> Tally:
    """16. After a successful cancel: no claim, no other end and no continuation until an operator's retry."""
    tally = Tally()
    for job_id, changes in evidence.by_job.items():
        cancelled: Change | None = None
        for change in changes:
            if change.before in FINISHED and change.after in ("pending", "blocked"):
                cancelled = None
            if cancelled is not None and change.after not in ("cancelled", None):
                reported = f"{job_id}: {change.after} after it was cancelled: {timeline(changes)}"
                tally.broken(reported, by_audit=True)
            if change.after == "cancelled" and change.before != "cancelled":
                cancelled = change
                tally.opportunities += 1
                tally.counts[f"while {change.before}"] = tally.counts.get(f"while {change.before}", 0) + 1
        if cancelled is not None:
            later = [each for each in evidence.by_chain[changes[0].chain] if each.seq > cancelled.seq]
            if any(each.before is None and each.index > changes[0].index for each in later):
                reported = f"{job_id}: its chain continued after it was cancelled: {timeline(changes)}"
                tally.broken(reported, by_audit=True)
    for call in evidence.called("cancel"):
        if call.outcome == "ok" and call.facts.get("status") is not None:
            chain, reported = call.args["chain"], call.facts["status"]
            changes = evidence.by_chain.get(chain, [])
            match = [change for change in changes if ends(change) and change.after == reported]
            tally.expect(
                by_then(call, match),
                f"cancel of {chain} returned {reported}, not written by then: {timeline(changes)}",
            )
    check_reported(tally, evidence, [each for each in evidence.changes if (each.before, each.after) == TAKEN])
    return tally


def one_completer(evidence: Evidence) -> Tally:
    """17. Of several callers and the worker that complete a chain, one wins and the others get an error."""
    tally = Tally()
    by_chain: dict[str, list[Call]] = defaultdict(list)
    for call in evidence.called("complete"):
        by_chain[call.args["chain"]].append(call)
    for chain, calls in by_chain.items():
        changes = evidence.by_chain.get(chain, [])
        outside = [change for change in changes if is_outside(change)]
        won = [call for call in calls if call.outcome == "ok"]
        unknown = [call for call in calls if call.outcome == "info"]
        lost = [call for call in calls if call.outcome == "fail"]
        tally.opportunities += len(lost)
        if not len(won) <= len(outside) <= len(won) + len(unknown):
            tally.broken(
                f"{chain}: {len(won)} completers won, {len(unknown)} have no answer, "
                f"and it was completed from outside {len(outside)} times: {timeline(changes)}"
            )
        if not all(during(call, outside) for call in won):
            tally.broken(f"{chain}: a completer got a success before it was written: {timeline(changes)}")
        for call in lost:
            _check_loser(tally, call, changes)
    check_reported(
        tally, evidence, [each for each in evidence.changes if each.before == "running" and is_outside(each)]
    )
    return tally


def _check_loser(tally: Tally, call: Call, changes: list[Change]) -> None:
    """AlreadyCompleted only after the chain ended; ChainNotFound only after it was deleted."""
    error = call.facts.get("error")
    over = {"AlreadyCompleted": filter(ends, changes), "ChainNotFound": (each for each in changes if not each.after)}
    if error not in over or not by_then(call, over[error]):
        tally.broken(f"{call.args['chain']}: a completer that lost got {error}: {timeline(changes)}")


def kept_as_reported(evidence: Evidence) -> Tally:
    """19. No chain is pruned unfinished or before its keep time ends, and none is kept long after it."""
    tally = Tally()
    asked: set[str] = set()
    for call in evidence.called("delete"):
        if call.outcome != "fail":
            asked |= set(call.facts.get("deleted", call.args["chains"]))
        for chain in call.facts.get("deleted", ()):
            changes = evidence.by_chain.get(chain, [])
            if not during(call, [change for change in changes if change.after is None]):
                tally.broken(f"{chain}: its deletion was acknowledged before it was written: {timeline(changes)}")
    overdue: list[float] = []
    for chain, changes in evidence.by_chain.items():
        gone = [change for change in changes if change.after is None]
        if chain in asked or not (gone or changes[-1].after in FINISHED):
            continue
        for change in gone:
            if change.before not in FINISHED:
                tally.broken(f"{change.id}: pruned while {change.before}")
        whole = [each for each in changes if each.after in FINISHED and each.keep is not None]
        due = max(((each.finished_at or 0) + (each.keep or 0) for each in whole), default=None)
        for change in gone:
            early = 0 if due is None else due - change.at
            tally.expect(due is not None and early <= TICK, f"{change.id}: pruned {early / 1e6:.1f} s too early")
        if due is not None:
            moment = gone[-1].at if gone else evidence.facts.ended
            late = (moment - due - evidence.unattended(due, moment)) / 1e6
            overdue += [late] if gone else []
            if late > PRUNED_WITHIN + evidence.facts.slack:
                tally.expect_soon(evidence.facts.timely, False, f"{chain}: kept {late:.1f} s after its keep time")
    tally.counts |= spread("seconds kept after the keep time", overdue)
    return tally
